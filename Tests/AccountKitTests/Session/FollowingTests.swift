import AccountKit
import AccountTesting
import Testing

struct FollowingTests {
    @Test func `What another process does reaches the shared account and the events, in order`() async throws {
        let storage = InMemoryArchiveStorage()
        let clock = ManualClock()
        let other = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        var events = store.events().makeAsyncIterator()
        let following = Task { await store.followChanges() }

        try await other.signIn { .fresh(at: clock.now) }
        // If the watch began after the sign-in, the account was there when the archive was first read.
        switch await events.next(isolation: nil) {
        case .signedIn(let account)?, .loaded(let account)?: #expect(account.username == "alice")
        default: Issue.record("the sign-in was not noticed")
        }
        try await other.update { $0.profile.nickname = "Al" }
        #expect(await events.next(isolation: nil) == store.account.map { .updated($0) })
        #expect(store.account?.profile.nickname == "Al")
        try await other.refresh(with: ScriptedAuthority(clock: clock))
        #expect(await events.next(isolation: nil) == store.account.map { .refreshed($0) })
        #expect(store.account?.credentials.accessToken == Secret("access-2"))
        try await other.signOut()
        #expect(await events.next(isolation: nil) == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
        #expect(store.account == nil)
        following.cancel()
        await following.value
    }
}
