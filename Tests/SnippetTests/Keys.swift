import AccountKit
import Foundation
import Testing

enum Keys {
    static func program(_ container: AppContainer) throws -> AccountStore {
        // snippet.program
        let store = AccountStore(
            container: container,
            keySources: [try CommandKey(["secret-tool", "lookup", "service", "notes"])])
        // snippet.end
        return store
    }

    static func passphrase(_ container: AppContainer, _ readPassphrase: @escaping @Sendable (String) -> Secret)
        -> AccountStore
    {
        // snippet.passphrase
        let store = AccountStore(
            container: container,
            keySources: [
                PassphraseKey { question in
                    switch question {
                    case .existing(let attempt): readPassphrase(attempt == 1 ? "Passphrase: " : "Try again: ")
                    case .new: readPassphrase("New passphrase: ")
                    }
                }
            ])
        // snippet.end
        return store
    }
}

// snippet.own
/// A key that this machine's security chip provides.
struct ChipKey: KeySource {
    let read: @Sendable () async throws -> [UInt8]?
    let create: @Sendable () async throws -> [UInt8]

    var kind: KeyKind { .keyFile }  // the kind of slot that it opens

    func key() async throws -> ArchiveKey? { try await read().map { try ArchiveKey(bytes: $0) } }
    func makeKey() async throws -> ArchiveKey { try ArchiveKey(bytes: await create()) }
}
// snippet.end

struct KeysTests {
    private let account = Account(id: "1", credentials: Credentials(accessToken: Secret("t"), issuedAt: .now))

    private func inFolder(_ body: (AppContainer) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(try AppContainer(root: root.path, identifier: "com.example.notes"))
    }

    @Test func `Opens an archive with the app's own key source`() async throws {
        try await inFolder { container in
            let key = ChipKey(read: { [UInt8](repeating: 3, count: 32) }, create: { [UInt8](repeating: 3, count: 32) })
            try await AccountStore(container: container, keySources: [key]).signIn { account }
            let again = AccountStore(container: container, keySources: [key])
            #expect(await again.load().account?.id == "1")
        }
    }

    @Test func `Fails the sign-in without an archive if the program returns no key`() async throws {
        try await inFolder { container in
            let store = try Keys.program(container)
            await #expect(throws: AccountError.self) { try await store.signIn { account } }
            #expect(await store.load() == .signedOut(.neverSignedIn))
        }
    }

    @Test func `Prompts for a passphrase when the archive is created`() async throws {
        try await inFolder { container in
            let store = Keys.passphrase(container) { _ in Secret("correct horse battery staple") }
            try await store.signIn { account }
            #expect(try await store.keySlots().map(\.kind) == [.passphrase])
        }
    }
}
