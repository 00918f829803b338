import AccountKit
import AccountTesting
import Testing

/// What an app's own tests of token expiry look like: no server, no waiting, no file.
struct TokenExpiryTests {
    private let clock = ManualClock()

    @Test func `A token that is about to expire is refreshed before it is used`() async throws {
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(clock: clock)
        let token = try await store.accessToken(with: service)
        #expect(token != Secret("access-1"))
        #expect(service.requests == [.refresh])
    }

    @Test func `Offline, an expired token is no reason to sign anyone out`() async throws {
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout))], clock: clock)
        #expect(await store.checkSession(with: service).account?.username == "alice")
    }

    @Test func `A refresh token that the service rejects ends the session`() async throws {
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.rejected("invalid_grant"))], clock: clock)
        guard case .signedOut = await store.checkSession(with: service) else {
            Issue.record("still signed in")
            return
        }
        #expect(store.account == nil)
    }
}
