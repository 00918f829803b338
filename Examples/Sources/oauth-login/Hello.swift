import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
import Foundation

/// A tool with an OAuth login: `hello account login | logout | whoami …`, and a command that greets the user.
@main struct Hello: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.hello"
    static let configuration = CommandConfiguration(commandName: "hello", subcommands: [AccountCommand<Hello>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let issuer = ProcessInfo.processInfo.environment["HELLO_ISSUER"] ?? "https://login.example.com"
        return try OAuthAuthority(
            issuer: issuer, clientID: "account-cli", timeout: options.timeout, logger: options.logger)
    }

    func run() async throws {
        let authority = try Hello.authority()
        switch try await Hello.store().checkSession(with: authority) {
        case .verified(let user): print("Hello \(user.displayName).")
        case .unverified(let user, let why): print("Hello \(user.displayName). (\(why))")
        case .signedOut, .unreadable: print("Hello stranger. Sign in with `hello account login`.")
        }
    }
}
