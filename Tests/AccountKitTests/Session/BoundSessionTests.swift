@testable import AccountKit
import AccountTesting
import Testing

/// The key of a session whose tokens are bound to it. Without the key, the service accepts no token of the session.
struct BoundSessionTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()
    private let key = Secret("the key of this session: 32 byte")

    private var bound: Account {
        var account = Account.testing(at: clock.now)
        account.credentials.tokenType = Credentials.boundType
        account.credentials.proofKey = key
        return account
    }

    private func store(_ account: Account? = nil) async throws -> AccountStore {
        try await .testing(signedIn: account, clock: clock, storage: storage)
    }

    private func storedKey() async throws -> Secret? {
        try await storage.stateForNewProcess().account?.credentials.proofKey
    }

    @Test func `Keeps the key in each change of a session`() async throws {
        let store = try await store(bound)
        let service = ScriptedAuthority(clock: clock)
        #expect(try await storedKey() == key)
        try await store.refresh(with: service)
        #expect(try await storedKey() == key)
        try await store.update { $0.profile.nickname = "Ally" }
        #expect(try await storedKey() == key)
        for target in [try TokenTarget(audience: "api"), try TokenTarget(scopes: ["openid"])] {
            _ = try await store.accessToken(for: target, timeout: nil, with: service)
            #expect(try await storedKey() == key)
        }
        #expect(await store.checkSession(with: service, maximumAge: .zero).account?.credentials.proofKey == key)
        #expect(try await storedKey() == key)
    }

    @Test func `Keeps the key in a queued revocation`() async throws {
        let store = try await store(bound)
        let service = ScriptedAuthority(revoke: [.refuse(.noResponse(.unreachable))], clock: clock)
        _ = try await store.signOut(with: service)
        let queued = try #require(await store.driver.revocations.pending().first).payload.account
        #expect(queued.credentials.proofKey == key)
    }

    @Test func `Moves the key with the session`() async throws {
        let places = TwoPlaces()
        try await places.store(.here).signIn { bound }
        try await places.move()
        #expect(await places.store(.there).load().account?.credentials.proofKey == key)
        try await places.move(.there, to: .here)
        #expect(await places.store(.here).load().account?.credentials.proofKey == key)
    }

    @Test func `Keeps the key when space is freed for new tokens`() {
        var account = bound
        while account.makeRoom() {}
        #expect(account.credentials.proofKey == key)
    }

    @Test func `Shows no part of the key in a description`() {
        var dumped = ""
        dump(bound, to: &dumped)
        expectNoLeak(of: [key], in: dumped + "\(bound) \(bound.credentials)" + String(reflecting: bound))
    }
}
