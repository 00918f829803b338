import AccountCommands
import AccountHTTP
import AccountKit
import ArgumentParser
import Foundation
import Logging

/// A tool with a custom login: `notes account login | logout | whoami …`, and a command that greets the user.
@main struct Notes: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.notes"
    static let configuration = CommandConfiguration(commandName: "notes", subcommands: [AccountCommand<Notes>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try JSONAPI(timeout: options.timeout, logger: options.logger)
    }

    func run() async throws {
        switch try await Notes.store().checkSession(with: JSONAPI()) {
        case .verified(let user):
            let points = try user.profile.decoded(as: Player.self).points ?? 0
            print("Hello \(user.displayName), you have \(points) points.")
        case .unverified(let user, let why): print("Hello \(user.displayName). (\(why))")
        case .signedOut: print("Hello stranger. Sign in with `notes account login`.")
        case .unreadable(let error): throw error  // says what is wrong and what to do; the file is unchanged
        }
    }
}

/// The fields of this tool's profile. They are optional, since a service may omit them.
struct Player: Codable {
    var points: Int?
}

/// The service's own API: requests and responses are JSON, and a `code` in the response names the error.
struct JSONAPI: PasswordAuthority {
    var issuer: String? { nil }
    let client: LoginClient

    init(timeout: Duration = .seconds(5), logger: Logger? = nil) throws(AccountError) {
        let server = ProcessInfo.processInfo.environment["NOTES_SERVER"] ?? "http://127.0.0.1:8080"
        client = try LoginClient(origin: server, timeout: timeout, logger: logger)
    }

    func signIn(username: String, password: Secret) async throws -> Account {
        var user = try await post("/login", ["username": username, "password": password.reveal()])
        guard case .integer(let id)? = user["id"], case .string(let token)? = user["token"] else {
            throw AuthorityError.unclear("a login without id or token")
        }
        user["token"] = nil  // The profile must not contain it.
        let credentials = Credentials(accessToken: Secret(token), issuedAt: .now)
        return Account(id: id, username: username, credentials: credentials, profile: user, verifiedAt: .now)
    }

    func verify(_ account: Account) async throws -> Identity {
        let user = try await post("/userinfo", token: account.credentials.accessToken)
        guard case .integer(let id)? = user["id"] else { throw AuthorityError.unclear("a user without id") }
        return Identity(id: id, profile: user)
    }

    /// Sends a request, and reports the outcome. The client throws if there is no clear response. AccountKit decides what
    /// the outcome means for the account.
    func post(_ path: String, _ body: [String: String] = [:], token: Secret? = nil) async throws -> UserProfile {
        let response = try await client.post(path, body, token: token)
        // Any other body is an unexpected response, which the default case below reports.
        let document = try? JSONDecoder().decode([String: ProfileValue].self, from: response.body)
        switch (document?["code"], document?["data"]) {
        case (nil, .dictionary(let user)?): return UserProfile(user)
        case (.string("wrong_password")?, _): throw AuthorityError.signInRefused("wrong password")
        case (.string("session_revoked")?, _): throw AuthorityError.rejected("session_revoked")
        default: throw AuthorityError.unclear("status \(response.statusCode)")
        }
    }
}
