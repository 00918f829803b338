import AccountKit
import AccountTesting
import Testing

struct AccountEventTests {
    /// A description of an event.
    private static func text(_ event: AccountEvent) -> String {
        switch event {
        case .loaded(let user): "loaded \(user.id)"
        case .signedIn(let user): "signed in \(user.id)"
        case .refreshed(let user): "refreshed \(user.id)"
        case .updated(let user): "updated \(user.profile.points ?? 0)"
        case .signedOut(let signOut): "signed out \(signOut.reason)"
        case .durabilityUnknown: "durability unknown"
        case .missed(let count): "missed \(count)"
        }
    }

    private static func texts(
        _ events: some AsyncSequence<AccountEvent, Never> & Sendable, count: Int
    ) async -> [String] {
        var texts: [String] = []
        for await event in events.prefix(count) { texts.append(text(event)) }
        return texts
    }

    @Test func `Sends all later events to every listener in order`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let early = (store.events(), store.events())
        try await store.signIn { Fixture.alice }
        _ = await store.load()
        try await store.update { $0.profile.points = 1 }
        try await store.refresh(with: authority)
        try await store.update { _ in }
        let late = store.events()
        try await store.signIn { Fixture.bob }
        try await store.signOut()
        try await store.signOut()
        try await store.signIn { Fixture.alice }

        let expected = [
            "signed in \(Fixture.alice.id)", "updated 1", "refreshed \(Fixture.alice.id)", "signed in bob",
            "signed out signedOutByUser", "signed in \(Fixture.alice.id)",
        ]
        #expect(await Self.texts(early.0, count: 6) == expected)
        #expect(await Self.texts(early.1, count: 6) == expected)
        #expect(await Self.texts(late, count: 3) == expected.suffix(3))
    }

    @Test func `Reports concurrent changes to every listener in the same order`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        let listeners = (0..<3).map { _ in store.events() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { try await store.update { $0.profile.points = ($0.profile.points ?? 0) + 1 } }
            }
            try await group.waitForAll()
        }
        let expected = (1...50).map { "updated \($0)" }
        for events in listeners { #expect(await Self.texts(events, count: 50) == expected) }
    }

    @Test(arguments: [0, 1, 100])
    func `Reports the newest events and the dropped count to a slow listener`(
        extra: Int
    ) async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        let events = store.events()
        for points in 1...(64 + extra) { try await store.update { $0.profile.points = Int64(points) } }
        var iterator = events.makeAsyncIterator()
        if extra > 0 { #expect(await iterator.next(isolation: nil).map(Self.text) == "missed \(extra)") }
        for points in (extra + 1)...(64 + extra) {
            #expect(await iterator.next(isolation: nil).map(Self.text) == "updated \(points)")
        }
        // From here on, the listener misses no event until it falls behind again.
        try await store.signOut()
        #expect(await iterator.next(isolation: nil).map(Self.text) == "signed out signedOutByUser")
    }

    @Test func `Reports a gap after the events that precede the gap`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        var iterator = store.events().makeAsyncIterator()
        try await store.update { $0.profile.points = 1 }
        #expect(await iterator.next(isolation: nil).map(Self.text) == "updated 1")
        for points in 2...68 { try await store.update { $0.profile.points = Int64(points) } }
        #expect(await iterator.next(isolation: nil).map(Self.text) == "missed 3")
        #expect(await iterator.next(isolation: nil).map(Self.text) == "updated 5")
    }

    @Test func `Writes no token in an event`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock)
        let events = store.events()
        try await store.signIn { Fixture.alice }
        try await store.refresh(with: ScriptedAuthority(clock: clock))
        try await store.signOut()
        for await event in events.prefix(3) {
            var dumped = ""
            dump(event, to: &dumped)
            #expect(!dumped.contains("(secret)"), "\(dumped)")
        }
    }

    @Test func `Removes a cancelled listener, and ends all streams with the store`() async throws {
        var store: AccountStore? = try await AccountStore.inMemory(signedIn: Fixture.alice)
        let listener = Task { [events = store!.events()] in await Self.texts(events, count: 2) }
        listener.cancel()
        #expect(await listener.value.isEmpty)
        try await store?.update { $0.profile.points = 1 }

        let events = try #require(store).events()
        store = nil
        #expect(await Self.texts(events, count: 1).isEmpty)
    }

    @Test func `Reports sign-ins and sign-outs that a power cut may undo`() async throws {
        let store = try await AccountStore.inMemory(
            signedIn: nil, storage: HookedStorage(durability: .unknown(reason: "the disk did not confirm")))
        let events = store.events()
        try await store.signIn { Fixture.alice }
        try await store.signOut()
        #expect(
            await Self.texts(events, count: 4) == [
                "signed in \(Fixture.alice.id)", "durability unknown", "signed out signedOutByUser",
                "durability unknown",
            ])
    }
}
