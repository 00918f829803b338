import AccountKit
import AccountTesting
import Foundation
import Testing

/// Archives that this package writes, read by a program that shares no code with it.
@Suite(.serialized)
struct ReaderTests {
    private let home: TemporaryFolder
    private let container: AppContainer

    init() throws {
        home = try TemporaryFolder()
        container = try AppContainer(root: home.url.path, identifier: "com.example.gists")
    }

    private var key: URL { container.keys.appending(path: "Account.key") }

    private func archive(of session: SessionName) -> URL {
        session == .default
            ? container.documents.appending(path: "Account.plist")
            : container.documents.appending(path: "Sessions/\(session)/Account.plist")
    }

    private func signIn(
        _ account: Account = .testing(at: Date(timeIntervalSince1970: 1_767_323_045)), session: SessionName = .default
    ) async throws -> URL {
        try await AccountStore(container: container, session: session).signIn { account }
        return archive(of: session)
    }

    // MARK: Reading

    @Test(arguments: ["default", "work"])
    func `Writes an archive that Python reads the same`(session: String) async throws {
        let archive = try await signIn(session: try SessionName(session))
        let outcome = try PythonReader.read(
            archive, "--key", KeyFile(container: container, session: try SessionName(session)).path, "--app",
            "com.example.gists", "--session", session, "--reveal")
        #expect(outcome.status == 0, "\(outcome.errors)")
        let json = try outcome.json()
        #expect(json["id"] as? String == "248289761001")
        #expect(json["issuer"] as? String == "https://auth.example.com")
        #expect(json["username"] as? String == "alice")
        #expect(json["clientID"] as? String == "test")
        #expect(json["tokenType"] as? String == "Bearer")
        #expect(json["scopes"] as? [String] == ["openid"])
        #expect(json["issuedAt"] as? String == "2026-01-02T03:04:05Z")
        #expect(json["expiresAt"] as? String == "2026-01-02T04:04:05Z")
        #expect(json["profile"] as? [String: String] == ["email": "alice@example.com", "name": "Alice Liddell"])
        #expect(json["generation"] as? Int == 1)
        #expect(json["tokens"] as? [String: String] == ["accessToken": "access-1", "refreshToken": "refresh-1"])
    }

    @Test func `Writes derived tokens that Python reads the same`() async throws {
        let archive = try await signIn(.fresh(at: Date()))
        let store = AccountStore(container: container)
        let authority = ScriptedAuthority()
        _ = try await store.accessToken(for: try TokenTarget(audience: "api"), timeout: nil, with: authority)
        _ = try await store.accessToken(
            for: try TokenTarget(resources: ["urn:b", "urn:a"], scopes: ["read"]), timeout: nil, with: authority)
        let outcome = try PythonReader.read(archive, "--key", key.path, "--app", "com.example.gists", "--reveal")
        #expect(outcome.status == 0, "\(outcome.errors)")
        let json = try outcome.json()
        let derived = try #require(json["derivedTokens"] as? [[String: Any]])
        try #require(derived.count == 2)
        #expect(derived[0]["audience"] as? String == "api")
        #expect(derived[0]["tokenType"] as? String == "Bearer")
        #expect(derived[0]["resources"] == nil)
        #expect(derived[1]["resources"] as? [String] == ["urn:a", "urn:b"])
        #expect(derived[1]["requestedScopes"] as? [String] == ["read"])
        let tokens = try #require(json["tokens"] as? [String: Any])
        #expect(tokens["derivedTokens"] as? [String] == ["derived-1", "derived-2"])
        #expect(tokens["accessToken"] as? String == "access-1")
        let quiet = try PythonReader.read(archive, "--key", key.path, "--app", "com.example.gists")
        #expect(quiet.status == 0)
        expectNoLeak(
            of: ["access-1", "refresh-1", "derived-1", "derived-2"].map { Secret($0) }, in: quiet.output + quiet.errors)
    }

    @Test func `Writes the key of bound tokens that Python reads the same`() async throws {
        var account = Account.testing(at: Date(timeIntervalSince1970: 0))
        account.credentials.tokenType = "DPoP"
        account.credentials.proofKey = Secret(bytes: [UInt8](0xC0...0xDF))
        let archive = try await signIn(account)
        let outcome = try PythonReader.read(archive, "--key", key.path, "--app", "com.example.gists", "--reveal")
        #expect(outcome.status == 0, "\(outcome.errors)")
        let tokens = try #require(try outcome.json()["tokens"] as? [String: String])
        #expect(tokens["proofKey"] == Data(0xC0...0xDF).base64EncodedString())
        #expect(tokens["accessToken"] == "access-1")
    }

    @Test(arguments: [0, 1, 300, 512, 100_000])
    func `Writes accounts of any length that Python reads the same`(length: Int) async throws {
        let note = String(repeating: "ä", count: length)
        var account = Account.testing(at: Date(timeIntervalSince1970: 0))
        account.profile["note"] = .string(note)
        let archive = try await signIn(account)
        let json = try PythonReader.read(archive, "--key", key.path, "--app", "com.example.gists").json()
        #expect((json["profile"] as? [String: Any])?["note"] as? String == note)
    }

    @Test(arguments: ["$null", "$$null", "$$$null", "null", "$nul", "$null\n", "a$null", ""])
    func `Writes special property list strings that Python reads the same`(text: String) async throws {
        var account = Account.testing(at: Date(timeIntervalSince1970: 0))
        account.username = text
        account.profile = ["text": .string(text), "list": [.string(text)], "names": .dictionary([text: .string(text)])]
        let archive = try await signIn(account)
        let json = try PythonReader.read(archive, "--key", key.path, "--app", "com.example.gists").json()
        #expect(json["username"] as? String == text)
        let profile = try #require(json["profile"] as? [String: Any])
        #expect(profile["text"] as? String == text)
        #expect(profile["list"] as? [String] == [text])
        #expect(profile["names"] as? [String: String] == [text: text])
    }

    @Test func `Requires the place in Python for an archive of a shared storage`() async throws {
        try await AccountStore(container: container).signIn { .fresh(at: Date()) }
        let storage = InMemoryArchiveStorage(sharedPlace: "notes/team")
        let store = AccountStore(
            storage: storage, appIdentifier: "com.example.gists", keys: [KeyFile(container: container)])
        try await store.signIn { .testing(at: Date()) }
        let file = home.url.appending(path: "shared.plist")
        try Data(try #require(storage.entries[.account]?.bytes)).write(to: file)
        for (place, status) in [(["--place", "notes/team"], 0), (["--place", "notes"], 77), ([], 77)] {
            let outcome = try PythonReader.run(
                [
                    PythonReader.folder.appending(path: "read_account.py").path, file.path, "--key", key.path, "--app",
                    "com.example.gists",
                ] + place)
            #expect(outcome.status == status, "\(place): \(outcome.errors)")
        }
    }

    // MARK: Refusing

    @Test func `Detects every flipped bit of a new archive in Python`() async throws {
        let archive = try await signIn()
        let count = try Data(contentsOf: archive).count
        let outcome = try PythonReader.run([
            PythonReader.folder.appending(path: "flip_every_bit.py").path, archive.path, key.path, "com.example.gists",
            "default",
        ])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output == "\(count * 8)\n")
    }

    // MARK: The golden archive

    @Test func `Reads the golden archive in Python by key and by passphrase`() throws {
        let key = home.url.appending(path: "golden.key")
        try Data(0..<32).write(to: key)
        let context = ["--app", "com.example.gists", "--session", "work", "--reveal"]
        let script = PythonReader.folder.appending(path: "read_account.py").path
        let outcomes = [
            try PythonReader.run([script, GoldenArchive.url.path, "--key", key.path] + context),
            try PythonReader.run(
                [script, GoldenArchive.url.path, "--passphrase-stdin"] + context,
                input: "correct horse battery staple\n"),
        ]
        for outcome in outcomes {
            #expect(outcome.status == 0, "\(outcome.errors)")
            let json = try outcome.json()
            #expect(json["id"] as? String == "248289761001")
            #expect(json["generation"] as? Int == 7)
            #expect(
                json["tokens"] as? [String: String] == [
                    "accessToken": "golden-access-token", "refreshToken": "golden-refresh-token",
                    "idToken": "golden-id-token",
                ])
            let profile = try #require(json["profile"] as? [String: Any])
            #expect(profile["nickname"] as? String == "Älice 🐇")
            #expect(profile["picture_hash"] as? String == "yv4=")
        }
        #expect(outcomes[0].output == outcomes[1].output)
        let wrong = try PythonReader.run(
            [script, GoldenArchive.url.path, "--passphrase-stdin"] + context, input: "correct horse\n")
        #expect(wrong.status == 77)
    }
}
