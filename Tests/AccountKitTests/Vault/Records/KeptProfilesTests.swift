import AccountTesting
import TestScene
import Testing

@testable import AccountKit

/// The app's own profile fields. They survive a session that the service ended, and other users' sign-ins, but not the
/// user's own sign-out.
struct KeptProfilesTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store(_ keys: [any KeyProvider] = [InMemoryKey()]) -> AccountStore {
        AccountStore(storage: storage, appIdentifier: "testing", keys: keys, clock: clock)
    }

    private var alice: Account { .fresh(at: clock.now) }
    private var bob: Account { .testing(id: "bob", at: clock.now) }

    private var entries: [String] {
        storage.entries.keys.map(\.rawValue).filter { $0.hasPrefix("Account-Profile-") }.sorted()
    }

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

    /// Signs alice in, and stores a setting of the app.
    private func signInWithTheme(_ store: AccountStore) async throws {
        try await store.signIn { alice }
        try await store.update { $0.profile["notes_theme"] = "dark" }
    }

    @Test func `Restores the app's fields after the service ended the session`() async throws {
        let store = store()
        try await signInWithTheme(store)
        await endSession(of: store)
        #expect(store.account == nil)
        #expect(entries == ["Account-Profile-1.plist"])
        let account = try await self.store().signIn { alice }
        #expect(account.profile["notes_theme"] == "dark")
        #expect(entries.isEmpty)
    }

    @Test func `Restores the fields after a rejected access token without refresh token`() async throws {
        let store = store()
        let plain = Account.testing(at: clock.now, hasRefreshToken: false)
        try await store.signIn { plain }
        try await store.update { $0.profile["pins"] = [3, 14] }
        await endSession(of: store)
        #expect(try await store.signIn { plain }.profile["pins"] == [3, 14])
    }

    @Test func `Prefers the claims of the new sign-in`() async throws {
        let store = store()
        try await signInWithTheme(store)
        try await store.update { $0.profile.name = "Old Name" }
        await endSession(of: store)
        var renamed = alice
        renamed.profile.name = "New Name"
        let account = try await store.signIn { renamed }
        #expect(account.profile.name == "New Name")
        #expect(account.profile["notes_theme"] == "dark")
    }

    @Test func `Does not show the fields to another user, and keeps them`() async throws {
        let store = store()
        try await signInWithTheme(store)
        await endSession(of: store)
        #expect(try await store.signIn { bob }.profile["notes_theme"] == nil)
        #expect(try await store.signIn { alice }.profile["notes_theme"] == "dark")
    }

    @Test func `Keeps the fields of a user whom another sign-in replaces`() async throws {
        let store = store()
        try await signInWithTheme(store)
        try await store.signIn { bob }
        try await store.update { $0.profile["notes_theme"] = "light" }
        #expect(try await store.signIn { alice }.profile["notes_theme"] == "dark")
        #expect(try await store.signIn { bob }.profile["notes_theme"] == "light")
    }

    @Test func `Distinguishes users with the same ID at two issuers`() async throws {
        let store = store()
        try await signInWithTheme(store)
        await endSession(of: store)
        let other = Account(
            id: alice.id, issuer: "https://other.example", credentials: bob.credentials, verifiedAt: clock.now)
        #expect(try await store.signIn { other }.profile["notes_theme"] == nil)
    }

    @Test func `Removes the fields when the user signs out`() async throws {
        let store = store()
        try await signInWithTheme(store)
        try await store.signOut()
        #expect(entries.isEmpty)
        #expect(try await store.signIn { alice }.profile["notes_theme"] == nil)
    }

    @Test func `Removes the fields when the user signs out of a session that the service ended`() async throws {
        let store = store()
        try await store.signIn { bob }
        try await store.update { $0.profile["notes_theme"] = "light" }
        try await signInWithTheme(store)
        clock.advance(by: .seconds(5.5))
        await endSession(of: store)
        #expect(try await store.signOut().account == nil)
        #expect(try await store.signIn { alice }.profile["notes_theme"] == nil)
        try await store.signOut()
        // Bob has not signed out. A second sign-out does not remove his fields.
        try await store.signOut()
        #expect(try await store.signIn { bob }.profile["notes_theme"] == "light")
    }

    @Test func `Does not restore fields that the user removed later`() async throws {
        let store = store()
        try await signInWithTheme(store)
        await endSession(of: store)
        try await store.signIn { alice }
        try await store.update { $0.profile["notes_theme"] = nil }
        await endSession(of: store)
        #expect(try await store.signIn { alice }.profile["notes_theme"] == nil)
    }

    @Test func `Stores nothing for a profile without fields`() async throws {
        let store = store()
        try await store.signIn { Account(id: "alice", credentials: alice.credentials, verifiedAt: clock.now) }
        await endSession(of: store)
        #expect(entries.isEmpty)
    }

    @Test func `Ends the session even if the fields cannot be stored`() async throws {
        let storage = FaultyArchiveStorage(storage)
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock)
        try await store.signIn { Account.testing(at: clock.now, hasRefreshToken: false) }
        for number in 1...3 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        await endSession(of: store)
        #expect(self.storage.entries.isEmpty)
    }

    @Test func `Stores the fields in the place of the account on a full disk`() async throws {
        let storage = FaultyArchiveStorage(storage)
        let store = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock)
        try await store.signIn { Account.testing(at: clock.now, hasRefreshToken: false) }
        try await store.update { $0.profile["notes_theme"] = "dark" }
        for number in 1...2 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        await endSession(of: store)
        #expect(entries == ["Account-Profile-1.plist"])
        #expect(try await self.store().signIn { alice }.profile["notes_theme"] == "dark")
    }

    @Test func `Encrypts the fields, and opens them in this session only`() async throws {
        let store = store()
        try await signInWithTheme(store)
        await endSession(of: store)
        let bytes = try #require(storage.entries.first { $0.key.rawValue == "Account-Profile-1.plist" }?.value.bytes)
        #expect(bytes.firstRange(of: Array("dark".utf8)) == nil)
        let other = AccountStore(
            storage: storage, appIdentifier: "other", keys: [InMemoryKey()], clock: clock)
        #expect(try await other.signIn { alice }.profile["notes_theme"] == nil)
    }

    @Test func `Opens the fields with the passphrase of the new sign-in`() async throws {
        let person = Person("correct horse", "correct horse", "correct horse", "correct horse")
        let store = store([person.key])
        try await signInWithTheme(store)
        await endSession(of: store)
        #expect(try await store.signIn { alice }.profile["notes_theme"] == "dark")
    }

    @Test func `Removes the fields at a sign-out without their passphrase`() async throws {
        let store = store([Person("correct horse", "correct horse").key])
        try await signInWithTheme(store)
        await endSession(of: store)
        #expect(entries == ["Account-Profile-1.plist"])
        try await self.store([]).signOut()
        #expect(entries.isEmpty)
    }

    @Test func `Opens the fields after a change of keys`() async throws {
        let store = store()
        try await signInWithTheme(store)
        try await store.signIn { bob }
        let other = InMemoryKey()
        _ = try await store.addKey(from: other)
        #expect(try await self.store([other]).signIn { alice }.profile["notes_theme"] == "dark")
    }

    @Test func `Keeps the fields of at most eight users, and drops the oldest`() async throws {
        let store = store()
        for number in 1...10 {
            try await store.signIn { Account.testing(id: "user-\(number)", at: clock.now) }
            try await store.update { $0.profile["notes_theme"] = .string("\(number)") }
            clock.advance(by: .seconds(1))
        }
        #expect(entries.count == 8)
        #expect(try await store.signIn { Account.testing(id: "user-1", at: clock.now) }.profile["notes_theme"] == nil)
        #expect(try await store.signIn { Account.testing(id: "user-9", at: clock.now) }.profile["notes_theme"] == "9")
    }
}
