// snippet.tool
import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
// snippet.end
import Foundation

/// A tool with an OAuth login: `hello account login | logout | whoami …`, and a command that greets the user.
// snippet.tool

@main struct Hello: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.hello"
    static let configuration = CommandConfiguration(commandName: "hello", subcommands: [AccountCommand<Hello>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        // snippet.end
        let server = ProcessInfo.processInfo.environment["HELLO_ISSUER"]  // the server of the tests
        if let server { return try OAuthAuthority(issuer: server, clientID: "account-cli", timeout: options.timeout) }
        // snippet.tool
        return try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "hello", timeout: options.timeout, logger: options.logger)
    }

    func run() async throws {
        switch try await Hello.store().checkSession(with: Hello.authority()) {
        case .verified(let user): print("Hello \(user.displayName).")
        case .unverified(let user, let why): print("Hello \(user.displayName). (\(why))")
        case .signedOut: print("Hello stranger. Sign in with `hello account login`.")
        case .unreadable(let error): throw error  // says what is wrong and what to do; the file is unchanged
        }
    }
}
// snippet.end
