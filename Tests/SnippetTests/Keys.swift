import AccountKit
import Foundation
import Testing

enum Keys {
    static func program(_ container: AppContainer) -> AccountStore {
        // snippet.program
        let store = AccountStore(
            container: container,
            keySources: [.command(["secret-tool", "lookup", "service", "notes"])])
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
                .passphrase { question in
                    switch question {
                    case .existing(let attempt): readPassphrase(attempt == 1 ? "Passphrase: " : "Try again: ")
                    case .new: readPassphrase("New passphrase: ")
                    }
                }
            ])
        // snippet.end
        return store
    }

    static func own(_ container: AppContainer, _ keychain: Keychain) -> AccountStore {
        // snippet.own
        let store = AccountStore(
            container: container,
            keySources: [
                .custom(
                    read: { try await keychain.item("notes-key") },
                    save: { try await keychain.add($0, as: "notes-key") })
            ])
        // snippet.end
        return store
    }
}

actor Keychain {
    private var items: [String: Secret] = [:]

    func item(_ name: String) throws -> Secret? { items[name] }

    func add(_ item: Secret, as name: String) throws { items[name] = items[name] ?? item }
}

struct KeysTests {
    private let account = Account(id: "1", credentials: Credentials(accessToken: Secret("t"), issuedAt: .now))

    private func inFolder(_ body: (AppContainer) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(try AppContainer(root: root.path, identifier: "com.example.notes"))
    }

    @Test func `Opens an archive with the app's own key source`() async throws {
        try await inFolder { container in
            let keychain = Keychain()
            try await Keys.own(container, keychain).signIn { account }
            #expect(await Keys.own(container, keychain).load().account?.id == "1")
        }
    }

    @Test func `Fails the sign-in without an archive if the program returns no key`() async throws {
        try await inFolder { container in
            let store = Keys.program(container)
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
