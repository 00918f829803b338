import AccountKit
import AccountTesting
import Foundation
import Testing

/// A wrong setting of a key source is reported when the key is needed, and changes no file.
struct KeySourceTests {
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store(_ sources: [KeySource]) throws -> AccountStore {
        AccountStore(container: try folder.container(), keySources: sources)
    }

    private func signIn(_ sources: [KeySource]) async throws {
        try await store(sources).signIn { .fresh(at: Date()) }
    }

    @Test(arguments: [
        (KeySource.command([]), AccountError.Code.invalidArgument), (.command([""]), .invalidArgument),
        (.command(["cat", "a\0b"]), .invalidArgument), (.file("keys/Account.key"), .invalidArgument),
        (.file(""), .invalidArgument), (.custom(read: { nil }), .misconfigured),
        (.environment(variable: "KEY_SOURCE_TESTS", credential: "key-source-tests"), .misconfigured),
    ])
    func `Creates no file at a sign-in with a wrong setting`(source: KeySource, code: AccountError.Code) async throws {
        for sources in [[source], [.file, source], [source, .file]] {
            let error = await expectAccountError(code) { try await signIn(sources) }
            #expect(error?.hint != nil)
            #expect(try folder.files() == [])
        }
    }

    @Test func `Keeps an archive unchanged if a wrong setting hides its key`() async throws {
        try await signIn([.command(["echo", Self.key])])
        let files = try folder.files()
        let archive = try folder.bytes()
        let wrong = try store([.command([])])
        #expect(await wrong.load() == .unreadable(AccountError(.invalidArgument, "")))
        await expectAccountError(.invalidArgument) { try await wrong.signIn { .fresh(at: Date()) } }
        #expect(try folder.files() == files)
        #expect(try folder.bytes() == archive)
    }

    @Test func `Opens an archive with a right source beside a wrong one`() async throws {
        try await signIn([.file])
        let account = try await store([.file, .command([])]).load().account
        #expect(account?.username == "alice")
    }
}
