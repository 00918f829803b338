import AccountTesting
import AccountCrypto
import Testing

@testable import AccountKit

struct KeySourceTests {
    /// A source that returns a key of the wrong kind.
    private struct MismatchedSource: KeySource {
        let kind: KeyKind
        let archiveKey: ArchiveKey

        func key() async throws -> ArchiveKey? { archiveKey }
        func makeKey() async throws -> ArchiveKey { archiveKey }
    }

    @Test(arguments: KeyKind.allCases)
    func `Refuses a key of a wrong kind before any change`(kind: KeyKind) async throws {
        let key =
            kind == .passphrase
            ? try ArchiveKey(bytes: [UInt8](repeating: 1, count: 32))
            : try ArchiveKey(passphrase: Secret("correct horse battery staple"))
        let storage = InMemoryArchiveStorage()
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keySources: [MismatchedSource(kind: kind, archiveKey: key)])
        await expectAccountError(.invalidArgument) {
            try await store.signIn { Account.fresh(at: ManualClock().now) }
        }
        #expect(try await storage.read(.account) == nil)
    }

    @Test func `Creates passphrase keys with the default cost`() async throws {
        let source = PassphraseKey { _ in Secret("correct horse battery staple") }
        #expect(try await source.makeKey().cost == .moderate)
        #expect(try ArchiveKey(passphrase: Secret("correct horse battery staple")).cost == .moderate)
    }
}
