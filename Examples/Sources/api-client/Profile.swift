import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
import Foundation
import Logging

/// A tool that asks an API in the name of whoever signed in with `profile account login`. Tokens are refreshed when they
/// must be, and a token that the API refuses costs nobody the session before the service has been asked.
@main struct Profile: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.profile"
    static let configuration = CommandConfiguration(commandName: "profile", subcommands: [AccountCommand<Profile>.self])
    static let origin = ProcessInfo.processInfo.environment["PROFILE_ORIGIN"] ?? "https://login.example.com"

    static func authority(
        for service: AccountService, timeout: Duration, logger: Logger?
    ) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(issuer: origin, clientID: "account-cli", timeout: timeout, logger: logger)
    }

    /// What the API says of a user.
    struct User: Decodable {
        let name: String
        let email: String?
    }

    func run() async throws {
        let authority = try Profile.authority(for: AccountService(), timeout: .seconds(5), logger: nil)
        let user: User = try await AuthenticatedClient(
            origin: Profile.origin, store: Profile.store(), authority: authority
        ).get("/oauth/userinfo").decoded()
        print("\(user.name) <\(user.email ?? "no address")>")
    }
}
