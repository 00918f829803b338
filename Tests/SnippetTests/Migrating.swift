import AccountCommands
import AccountHTTP
import AccountKit
import AccountTesting
import Foundation
import Testing

/// A tool that can import the login of its earlier version.
enum MigratingNotes: AccountApplication {
    static let identifier = "com.example.notes"

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(
            issuer: "https://login.example.com", clientID: "notes-cli", timeout: options.timeout, logger: options.logger
        )
    }

    // snippet.importer
    /// The login that an earlier version of `notes` kept in a JSON file.
    struct EarlierLogin: Decodable {
        var userID: String
        var accessToken: String
        var refreshToken: String?
        var expiresAt: Double?  // seconds since 1970
    }

    static var importer: (@Sendable (_ path: String) throws(AccountError) -> ImportedLogin)? {
        { path throws(AccountError) in
            do {
                let login = try JSONDecoder().decode(EarlierLogin.self, from: Data(contentsOf: URL(filePath: path)))
                let credentials = Credentials(
                    accessToken: Secret(login.accessToken), refreshToken: login.refreshToken.map { Secret($0) },
                    clientID: "notes-cli", issuedAt: .now,
                    expiresAt: login.expiresAt.map { Date(timeIntervalSince1970: $0) })
                return ImportedLogin(
                    account: Account(id: login.userID, issuer: "https://login.example.com", credentials: credentials))
            } catch {
                throw AccountError(.invalidArgument, "\(path) is not a login of an earlier version: sign in instead")
            }
        }
    }
    // snippet.end
}

/// The example of a sign-in with a token. A test below calls it.
enum Migrations {
    static func adopt(_ token: Secret, _ store: AccountStore, _ authority: any TokenAuthority) async throws {
        // snippet.token
        try await store.signIn(token: token, with: authority)  // asks the service for the user of the token
        // snippet.end
    }
}

struct MigratingTests {
    @Test func `Imports a login from a JSON file`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID()).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = #"{"userID": "42", "accessToken": "secret-1", "refreshToken": "secret-2", "expiresAt": 4102444800}"#
        try Data(text.utf8).write(to: URL(filePath: path))
        let importer = try #require(MigratingNotes.importer)
        let account = try importer(path).account
        #expect(account.id == "42")
        #expect(account.credentials.refreshToken == Secret("secret-2"))
        #expect(account.credentials.expiresAt == Date(timeIntervalSince1970: 4_102_444_800))
        let authority = try MigratingNotes.authority()
        #expect(authority.isAuthority(of: account))

        let store = try await AccountStore.inMemory(signedIn: account)
        #expect(store.account == account)
    }

    @Test func `Hides the token in the error for an unreadable login`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID()).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(#"{"userID": 42, "accessToken": "secret-1"}"#.utf8).write(to: URL(filePath: path))
        let importer = try #require(MigratingNotes.importer)
        let error = #expect(throws: AccountError.self) { try importer(path) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("secret-1") == false)
    }

    @Test func `Signs in with a token that the app already has`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let authority = ScriptedAuthority()
        try await Migrations.adopt(Secret("token-1"), store, authority)
        #expect(authority.requests == [.signIn])
        #expect(store.account?.username == "alice")
    }
}
