import AccountCrypto
import AccountTesting
import Synchronization
import Testing

@testable import AccountKit

/// A key that the app itself keeps.
struct CustomKeyTests {
    /// A place for one key, such as an item of the Keychain.
    private final class Item: Sendable {
        private let value: Mutex<Secret?>

        init(_ value: Secret? = nil) { self.value = Mutex(value) }

        var text: Secret? { value.withLock { $0 } }

        func add(_ text: Secret) { value.withLock { $0 = $0 ?? text } }

        var key: CustomKey { CustomKey(read: { self.text }, save: { self.add($0) }) }
    }

    private static let text = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    private let storage = InMemoryArchiveStorage()
    private let clock = ManualClock()

    private func store(_ key: CustomKey) -> AccountStore {
        AccountStore(storage: storage, appIdentifier: "testing", keys: [key], clock: clock)
    }

    private func signIn(_ key: CustomKey) async throws { try await store(key).signIn { .fresh(at: clock.now) } }

    private func bytes(_ key: ArchiveKey?) -> [UInt8]? {
        guard case .key(let bytes)? = key?.opener else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }

    @Test func `Saves a new random key at the first sign-in, and opens the archive with it`() async throws {
        let (item, other) = (Item(), Item())
        try await signIn(item.key)
        #expect(item.text?.byteCount == 44)
        #expect(await store(item.key).load().account == .fresh(at: clock.now))
        _ = try await other.key.makeKey()
        #expect(bytes(try await item.key.key()) != bytes(try await other.key.key()))
    }

    @Test func `Uses the app's existing key`() async throws {
        let item = Item(Self.text)
        try await signIn(item.key)
        #expect(item.text == Self.text)
        #expect(bytes(try await item.key.key()) == [UInt8](0..<32))
    }

    @Test func `Uses the key that another process has saved first`() async throws {
        let item = Item()
        let late = CustomKey(
            read: { item.text },
            save: { text in
                item.add(Self.text)
                item.add(text)
            })
        try await signIn(late)
        #expect(item.text == Self.text)
        #expect(await store(item.key).load().account == .fresh(at: clock.now))
    }

    @Test(arguments: [
        (CustomKey(read: { nil }, save: nil), AccountError.Code.misconfigured),
        (CustomKey(read: { nil }, save: { _ in }), .inaccessible),
        (CustomKey(read: { Secret("password") }, save: nil), .noKey),
    ])
    func `Creates no archive without a key of the app`(key: CustomKey, code: AccountError.Code) async throws {
        await expectAccountError(code) { try await signIn(key) }
        #expect(storage.entries.isEmpty)
    }

    @Test func `Keeps the archive and the key while the app cannot read the key`() async throws {
        struct Locked: Error {}
        let item = Item()
        try await signIn(item.key)
        let (entries, text) = (storage.entries, item.text)
        let locked = CustomKey(read: { throw Locked() }, save: { item.add($0) })
        guard case .unreadable = await store(locked).load() else {
            Issue.record("the archive opened without its key")
            return
        }
        await #expect(throws: AccountError.self) { try await signIn(locked) }
        #expect(storage.entries == entries)
        #expect(item.text == text)
    }
}
