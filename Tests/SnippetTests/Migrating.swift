import AccountKit
import AccountTesting
import Foundation
import Testing

/// The examples of the article about existing sign-ins. The tests below call them.
enum Migrations {
    static func adopt(_ token: Secret, _ store: AccountStore, _ authority: any TokenAuthority) async throws {
        // snippet.token
        try await store.signIn(token: token, with: authority)  // asks the service for the user of the token
        // snippet.end
    }

    // snippet.file
    /// The login that an earlier version of `notes` kept in a JSON file.
    struct EarlierLogin: Decodable {
        var userID: String
        var accessToken: String
        var refreshToken: String?
        var expiresAt: Double?  // seconds since 1970
    }

    /// Moves the login in a file to the store, unless a user is signed in.
    static func move(from path: String, to store: AccountStore) async throws {
        guard case .signedOut = await store.load() else { return }
        let login: EarlierLogin
        do {
            login = try JSONDecoder().decode(EarlierLogin.self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw AccountError(.invalidArgument, "\(path) is not a login of an earlier version: sign in instead")
        }
        let credentials = Credentials(
            accessToken: Secret(login.accessToken), refreshToken: login.refreshToken.map { Secret($0) },
            clientID: "notes-cli", issuedAt: .now,
            expiresAt: login.expiresAt.map { Date(timeIntervalSince1970: $0) })
        try await store.signIn {
            Account(id: login.userID, issuer: "https://login.example.com", credentials: credentials)
        }
        try FileManager.default.removeItem(atPath: path)
    }
    // snippet.end
}

struct MigratingTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID()).json").path

    /// Writes a file of the earlier version, and removes the file after the test.
    private func withFile(_ text: String, _ test: () async throws -> Void) async throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await test()
    }

    private var exists: Bool { FileManager.default.fileExists(atPath: path) }

    private static let login =
        #"{"userID": "42", "accessToken": "secret-1", "refreshToken": "secret-2", "expiresAt": 4102444800}"#

    @Test func `Moves a login from a JSON file to the store`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        try await withFile(Self.login) {
            try await Migrations.move(from: path, to: store)
            #expect(!exists)
        }
        let account = try #require(store.account)
        #expect(account.id == "42" && account.issuer == "https://login.example.com")
        #expect(account.credentials.refreshToken == Secret("secret-2"))
        #expect(account.credentials.expiresAt == Date(timeIntervalSince1970: 4_102_444_800))
    }

    @Test func `Keeps the file of an earlier login if a user is signed in`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: .now))
        let before = store.account
        try await withFile(Self.login) {
            try await Migrations.move(from: path, to: store)
            #expect(exists && before != nil && store.account == before)
        }
    }

    @Test func `Hides the token in the error for an unreadable login`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        try await withFile(#"{"userID": 42, "accessToken": "secret-1"}"#) {
            let error = await #expect(throws: AccountError.self) { try await Migrations.move(from: path, to: store) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.description.contains("secret-1") == false)
            #expect(exists && store.account == nil)
        }
    }

    @Test func `Signs in with a token that the app already has`() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let authority = ScriptedAuthority()
        try await Migrations.adopt(Secret("token-1"), store, authority)
        #expect(authority.requests == [.signIn])
        #expect(store.account?.username == "alice")
    }
}
