import AccountKit
import AccountTesting
import Testing

/// The store itself revokes queued tokens after their service has responded.
struct RevocationDeliveryTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private var store: AccountStore {
        AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock,
            lockTimeout: .seconds(300))
    }

    /// Signs in after another user of the client signed out while the service was unreachable.
    private func signedIn(earlierClient: String = "test") async throws -> AccountStore {
        var earlier = Account.testing(id: "earlier", at: clock.now)
        earlier.credentials.accessToken = Secret("earlier-access")
        earlier.credentials.refreshToken = Secret("earlier-refresh")
        earlier.credentials.clientID = earlierClient
        let (store, queued) = (store, earlier)
        try await store.signIn { queued }
        let unreachable = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock)
        #expect(try await store.signOut(with: unreachable).revocation == .queued(.noResponse(.timeout)))
        clock.advance(by: .seconds(60))
        try await store.signIn { .fresh(at: clock.now) }
        #expect(try await store.pendingRevocations().count == 1)
        return store
    }

    @Test func `Revokes queued tokens after a check`() async throws {
        let store = try await signedIn()
        let service = ScriptedAuthority(clock: clock)
        guard case .verified = await store.checkSession(with: service) else {
            Issue.record("the service did not confirm the account")
            return
        }
        await store.finishPendingRequests()
        #expect(service.requests == [.verify, .revoke])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Revokes queued tokens after a refresh`() async throws {
        let store = try await signedIn()
        let service = ScriptedAuthority(clock: clock)
        try await store.refresh(with: service)
        await store.finishPendingRequests()
        #expect(service.requests == [.refresh, .revoke])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Revokes queued tokens after a sign-in with a token`() async throws {
        let store = store
        let service = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        try await store.signIn(username: "bob", password: Secret("p"), with: service)
        clock.advance(by: .seconds(1))
        try await store.signOut(with: service)
        clock.advance(by: .seconds(60))
        try await store.signIn(token: Secret("given"), with: service)
        await store.finishPendingRequests()
        #expect(service.requests == [.signIn, .revoke, .signIn, .revoke])
    }

    /// The revocation could also end the grant that the sign-in is obtaining.
    @Test func `Revokes queued tokens only after a sign-in in progress`() async throws {
        let store = try await signedIn()
        let service = ScriptedAuthority(clock: clock)
        try await store.signIn {
            _ = await store.checkSession(with: service)
            await store.finishPendingRequests()
            #expect(service.requests == [.verify])
            return .fresh(at: clock.now)
        }
        await store.finishPendingRequests()
        #expect(service.requests == [.verify, .revoke])
    }

    @Test func `Sends one request to a service that does not respond`() async throws {
        let store = try await signedIn()
        let unreachable = ScriptedAuthority(
            revoke: [.refuse(.noResponse(.timeout)), .refuse(.noResponse(.timeout)), .accept], clock: clock)
        try await store.signOut(with: unreachable)
        clock.advance(by: .seconds(60))
        #expect(try await store.pendingRevocations().count == 2)
        let outcomes = await store.deliverRevocations { _ in unreachable }.map(\.outcome)
        #expect(outcomes == [.queued(.noResponse(.timeout))])
    }

    @Test func `Sends no queued tokens after a check that failed`() async throws {
        let store = try await signedIn()
        let unreachable = ScriptedAuthority(verify: [.refuse(.noResponse(.timeout))], clock: clock)
        _ = await store.checkSession(with: unreachable)
        await store.finishPendingRequests()
        #expect(unreachable.requests == [.verify])
        #expect(try await store.pendingRevocations().count == 1)
    }

    @Test func `Keeps queued tokens of another client`() async throws {
        let store = try await signedIn(earlierClient: "another")
        let service = ScriptedAuthority(clock: clock)
        _ = await store.checkSession(with: service)
        await store.finishPendingRequests()
        #expect(service.requests == [.verify])
        #expect(try await store.pendingRevocations().count == 1)
    }

    @Test func `Leaves the queue to a caller that delivers all sessions`() async throws {
        let store = try await signedIn().leavingRevocations()
        let service = ScriptedAuthority(clock: clock)
        _ = await store.checkSession(with: service)
        await store.finishPendingRequests()
        #expect(service.requests == [.verify])
        #expect(await store.deliverRevocations { _ in service }.map(\.outcome) == [.done])
    }
}
