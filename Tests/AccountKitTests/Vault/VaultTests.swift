import AccountTesting
import Synchronization
import Testing

@testable import AccountKit

struct VaultTests {
    private static let key = TestKey(.keyFile, 1)

    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store(_ sources: any KeyProvider...) -> AccountStore {
        AccountStore(storage: storage, appIdentifier: "testing", keys: sources, clock: clock)
    }

    private func vault(_ source: any KeyProvider = key, on other: (any ArchiveStorage)? = nil) -> Vault {
        Vault(
            storage: other ?? storage, appIdentifier: "testing", session: .default, keys: [source])
    }

    @Test func `Reads the account while another process holds the lock`() async throws {
        try await store(Self.key).signIn { .fresh(at: clock.now) }
        let state = try await storage.withTransaction(timeout: .zero) { _ in await vault().read().state }
        #expect(state == .unverified(.fresh(at: clock.now), .init(.notChecked)))
    }

    @Test func `Reports why the session has ended`() async throws {
        #expect(await vault().read().state == .signedOut(SignOut(.neverSignedIn)))
        let store = store(Self.key)
        try await store.signIn { .fresh(at: clock.now) }
        try await store.signOut()
        guard case .signedOut(let signOut) = await vault().read().state else {
            Issue.record("the session has not ended")
            return
        }
        #expect(signOut.reason == .signedOutByUser)
    }

    @Test func `Reads again if another process changes the keys during a read`() async throws {
        try await store(Self.key).signIn { .fresh(at: clock.now) }
        let other = TestKey(.command, 2)
        let isChanged = Mutex(false)
        let hooked = HookedStorage(
            base: storage,
            afterRead: { _ in
                let isFirst = isChanged.withLock { isChanged in
                    defer { isChanged = true }
                    return !isChanged
                }
                guard isFirst else { return }
                do {
                    try await store(Self.key).signOut()
                    try await store(other).signIn { .fresh(at: clock.now) }
                } catch {
                    Issue.record(error)
                }
            })
        // The vault's key does not open the archive of the first read.
        #expect(await vault(other, on: hooked).read().account == .fresh(at: clock.now))
    }
}
