import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
import Logging

/// `notes` says how many notes there are; `notes account login | logout | whoami …` come with AccountCommands.
@main struct Notes: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.notes"
    static let configuration = CommandConfiguration(commandName: "notes", subcommands: [AccountCommand<Notes>.self])

    static func authority(
        for service: AccountService = AccountService(), timeout: Duration = .seconds(5), logger: Logger? = nil
    ) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(issuer: "https://login.example.com", clientID: "notes-cli", timeout: timeout, logger: logger)
    }

    func run() async throws {
        let authority = try Notes.authority()
        let api: AuthenticatedClient
        // snippet.five
        let store = try await Notes.store()
        guard let user = await store.checkSession(with: authority).account else { throw ExitCode(77) }
        api = try AuthenticatedClient(origin: "https://api.example.com", store: store, authority: authority)
        let notes: [Note] = try await api.send(.get("/notes?page=2")).decoded()
        print("\(user.displayName) has \(notes.count) notes on page 2.")
        // snippet.end
    }
}

struct Note: Decodable {
    var title: String
}
