import AccountTesting
import AccountCrypto
import TestScene
import Testing

@testable import AccountKit

/// The key of a user's offline data. It survives a session that the service ended, but no sign-out.
struct OfflineKeysTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store(_ keys: [any KeyProvider] = [InMemoryKey()]) -> AccountStore {
        AccountStore(storage: storage, appIdentifier: "testing", keys: keys, clock: clock)
    }

    private var alice: Account { .fresh(at: clock.now) }
    private var bob: Account { .testing(id: "bob", at: clock.now) }

    /// Returns data that only the same key opens.
    private func note(with key: OfflineKey) -> [UInt8] { key.seal.seal([1, 2, 3], type: "note", id: []) }
    private func opens(_ note: [UInt8], _ key: OfflineKey) -> Bool { key.seal.open(note, type: "note", id: []) != nil }

    private func endSession(of store: AccountStore) async {
        let authority = ScriptedAuthority(
            verify: [.refuse(.unauthorized(error: "invalid_token"))], refresh: [.refuse(.oauthError("invalid_grant"))],
            clock: clock)
        let state = await store.checkSession(with: authority, timeout: nil)
        guard case .signedOut = state else {
            Issue.record("the session did not end: \(state)")
            return
        }
    }

    @Test func `Creates the offline key once and returns it in every process`() async throws {
        let store = store()
        try await store.signIn { alice }
        let note = note(with: try await store.offlineKey())
        #expect(opens(note, try await store.offlineKey()))
        #expect(opens(note, try await self.store().offlineKey()))
    }

    @Test func `Returns no offline key unless a user is signed in`() async throws {
        await expectAccountError(.notSignedIn) { _ = try await store().offlineKey() }
    }

    @Test func `Keeps a separate offline key for each user across other sign-ins`() async throws {
        let store = store()
        try await store.signIn { alice }
        let alices = try await store.offlineKey()
        let note = note(with: alices)
        try await store.signIn { bob }
        #expect(try await !store.isCurrent(alices))
        #expect(!opens(note, try await store.offlineKey()))
        try await store.signIn { alice }
        #expect(try await store.isCurrent(alices))
        #expect(opens(note, try await store.offlineKey()))
    }

    @Test func `Keeps the offline key if the service ends the session`() async throws {
        let store = store()
        try await store.signIn { alice }
        let key = try await store.offlineKey()
        await endSession(of: store)
        #expect(try await !store.isCurrent(key))
        await expectAccountError(.notSignedIn) { _ = try await store.offlineKey() }
        try await store.signIn { alice }
        #expect(opens(note(with: key), try await store.offlineKey()))
    }

    @Test func `Destroys the offline key on sign-out from a session that the service ended`() async throws {
        let store = store()
        try await store.signIn { bob }
        let bobs = try await store.offlineKey()
        clock.advance(by: .seconds(60))
        await endSession(of: store)
        try await store.signIn { alice }
        let note = note(with: try await store.offlineKey())
        clock.advance(by: .seconds(60.7))
        #expect(try await !store.hasOfflineDataOfEndedSession())
        await endSession(of: store)
        #expect(try await store.hasOfflineDataOfEndedSession())
        try await store.signOut()
        #expect(try await !store.hasOfflineDataOfEndedSession())
        try await store.signIn { alice }
        #expect(!opens(note, try await store.offlineKey()))
        try await store.signIn { bob }
        #expect(opens(self.note(with: bobs), try await store.offlineKey()))
    }

    @Test func `Destroys only the user's own offline key on sign-out`() async throws {
        let store = store()
        try await store.signIn { alice }
        let alices = try await store.offlineKey()
        await endSession(of: store)
        try await store.signIn { bob }
        let bobs = try await store.offlineKey()
        try await store.signOut()
        try await store.signIn { bob }
        #expect(try await !store.isCurrent(bobs))
        #expect(!opens(note(with: bobs), try await store.offlineKey()))
        try await store.signIn { alice }
        #expect(opens(note(with: alices), try await store.offlineKey()))
    }

    @Test func `Keeps an offline key after a failed sign-out, not after a partial one`() async throws {
        let storage = FaultyArchiveStorage(storage)
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock)
        try await store.signIn { alice }
        let key = try await store.offlineKey()
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .remove)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut() }
        #expect(opens(note(with: key), try await store.offlineKey()))

        // The account is removed, but the key is not.
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2, of: .remove)
        try await store.signOut()
        #expect(self.storage.entries.keys.contains { $0.rawValue == "Offline-1.plist" })
        try await store.signIn { alice }
        #expect(!opens(note(with: key), try await store.offlineKey()))
    }

    @Test func `Removes the offline key on sign-out with a full disk`() async throws {
        let storage = FaultyArchiveStorage(storage)
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock)
        try await store.signIn { alice }
        let key = try await store.offlineKey()
        for number in 1...3 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        try await store.signOut()
        #expect(self.storage.entries.keys.allSatisfy { !$0.rawValue.hasPrefix("Offline") })
        #expect(try await !store.isCurrent(key))
    }

    @Test func `Reads the offline key after a sign-in without a passphrase prompt`()
        async throws
    {
        let person = Person("correct horse", "correct horse", "correct horse", "correct horse")
        let store = store([person.key])
        try await store.signIn { alice }
        let key = try await store.offlineKey()
        await endSession(of: store)
        try await store.signIn { alice }
        #expect(opens(note(with: key), try await store.offlineKey()))
        let count = person.questions.count
        #expect(opens(note(with: key), try await store.offlineKey()))
        #expect(person.questions.count == count)
    }

    @Test func `Keeps offline keys for at most eight users`() async throws {
        let store = store()
        for number in 1...8 {
            try await store.signIn { Account.testing(id: "user-\(number)", at: clock.now) }
            _ = try await store.offlineKey()
        }
        try await store.signIn { Account.testing(id: "user-9", at: clock.now) }
        await expectAccountError(.inaccessible) { _ = try await store.offlineKey() }
        try await store.signIn { Account.testing(id: "user-3", at: clock.now) }
        try await store.signOut()
        try await store.signIn { Account.testing(id: "user-9", at: clock.now) }
        _ = try await store.offlineKey()
    }
}
