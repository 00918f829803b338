import AccountKit
import AccountTesting
import Testing

struct FollowingTests {
    @Test func `Reports the changes of another process in order`() async throws {
        let storage = InMemoryArchiveStorage()
        let clock = ManualClock()
        let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        var events = store.events().makeAsyncIterator()
        let following = Task { try await store.observeExternalChanges() }

        try await other.signIn { .fresh(at: clock.now) }
        // If the watch began after the sign-in, the first read already found the account.
        switch await events.next(isolation: nil) {
        case .signedIn(let user)?, .loaded(let user)?: #expect(user.username == "alice")
        default: Issue.record("the sign-in was not noticed")
        }
        try await other.update { $0.profile.nickname = "Al" }
        #expect(await events.next(isolation: nil) == store.account.map { .updated(Identity($0)) })
        #expect(store.account?.profile.nickname == "Al")
        try await other.refresh(with: ScriptedAuthority(clock: clock))
        #expect(await events.next(isolation: nil) == store.account.map { .refreshed(Identity($0)) })
        #expect(store.account?.credentials.accessToken == Secret("access-2"))
        try await other.signOut()
        #expect(await events.next(isolation: nil) == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
        #expect(store.account == nil)
        following.cancel()
        try await following.value
    }

    @Test func `Throws the watch's error from observeExternalChanges at its end`() async throws {
        struct Broken: Error {}
        let (changes, continuation) = AsyncThrowingStream.makeStream(of: Void.self, throwing: (any Error).self)
        let storage = HookedStorage(changes: changes)
        let other = try await AccountStore.inMemory(signedIn: nil, storage: storage.base)
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        let events = store.events()
        let following = Task { try await store.observeExternalChanges() }
        try await other.signIn { Fixture.alice }
        continuation.yield()
        for await _ in events.prefix(1) {}
        #expect(store.account?.id == Fixture.alice.id)
        continuation.finish()
        await expectAccountError(.inaccessible, "the stream ended") { try await following.value }
        #expect(store.account?.id == Fixture.alice.id, "the end of the stream does not sign the user out")

        for (error, code) in [
            (Broken() as any Error, AccountError.Code.inaccessible), (AccountError(.busy, "full"), .busy),
        ] {
            let failing = HookedStorage(changes: AsyncThrowingStream { $0.finish(throwing: error) })
            let store = try await AccountStore.inMemory(signedIn: nil, storage: failing)
            let thrown = await expectAccountError(code) { try await store.observeExternalChanges() }
            #expect(thrown?.message == "full" || thrown?.cause is Broken)
        }
    }

    @Test func `Ends observeExternalChanges without an error on cancellation`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        for _ in 0..<20 {
            let following = Task { try await store.observeExternalChanges() }
            following.cancel()
            try await following.value
        }
        let events = store.events()
        let following = Task { try await store.observeExternalChanges() }
        try await store.update { $0.profile.points = 1 }
        for await _ in events.prefix(1) {}
        following.cancel()
        try await following.value
    }
}
