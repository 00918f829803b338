import AccountKit
import AccountTesting
import Testing

struct AccountStoreTests {
    @Test func `An account that was signed in is there after the next start`() async throws {
        let storage = InMemoryArchiveStorage()
        let clock = ManualClock()
        let account = Account.fresh(at: clock.now)
        _ = try await AccountStore.testing(signedIn: account, clock: clock, storage: storage)

        let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        #expect(store.account == nil)
        #expect(await store.load() == .unverified(account, .init(.notChecked)))
        #expect(store.account == account)
    }

    @Test func `An expired token is refreshed silently`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let state = await store.checkSession(with: authority)
        #expect(state.account?.credentials.accessToken == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }
}
