// snippet.app
import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser

/// `notes` counts the notes. AccountCommands adds `notes account login | logout | whoami …`.
@main struct Notes: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.notes"
    static let configuration = CommandConfiguration(commandName: "notes", subcommands: [AccountCommand<Notes>.self])
    static let url = "http://127.0.0.1:8080"  // the test server; replace it with the URL of your API

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let client = try OAuthClient(registeringIn: container(), name: "Notes")
        return try OAuthAuthority(api: url, client: client, timeout: options.timeout, logger: options.logger)
    }
    // snippet.end

    // snippet.run
    func run() async throws {
        let authority = try Notes.authority()
        // snippet.five
        let store = try Notes.store()  // the account of `notes account …`
        let state = await store.checkSession(with: authority)  // verified, unverified, signed out or unreadable
        print("Hello \(state.account?.displayName ?? "stranger")")
        let api = try AuthenticatedClient(origin: Notes.url, store: store, authority: authority)
        let notes: [Note] = try await api.get("/notes").decoded()  // with a token that is refreshed in time
        // snippet.end
        // snippet.run
        print("You have \(notes.count) notes.")
    }
}

struct Note: Decodable {
    var title: String
}
