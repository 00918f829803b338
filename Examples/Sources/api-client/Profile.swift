import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
import Foundation

/// A tool that calls an API with the token of the user who signed in with `profile account login`. Tokens are refreshed
/// when necessary. If the API rejects a token, the session ends only if the service confirms that it has ended.
@main struct Profile: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.profile"
    static let configuration = CommandConfiguration(commandName: "profile", subcommands: [AccountCommand<Profile>.self])
    static let origin = ProcessInfo.processInfo.environment["PROFILE_ORIGIN"] ?? "https://login.example.com"

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(issuer: origin, clientID: "account-cli", timeout: options.timeout, logger: options.logger)
    }

    /// A user in the API's response.
    struct User: Decodable {
        let name: String
        let email: String?
    }

    func run() async throws {
        let authority = try Profile.authority()
        let user: User = try await AuthenticatedClient(
            origin: Profile.origin, store: Profile.store(), authority: authority
        ).get("/oauth/userinfo").decoded()
        print("\(user.name) <\(user.email ?? "no address")>")
    }
}
