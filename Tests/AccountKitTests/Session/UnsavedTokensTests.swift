import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// New tokens that could not be saved: their process knows them, and no other does.
struct UnsavedTokensTests {
    /// Alice's new tokens are in the memory of one process only; there is another one.
    private struct Scene {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let faulty: FaultyArchiveStorage
        let otherFaulty: FaultyArchiveStorage
        let store: AccountStore
        let other: AccountStore
        let authority: SteppedAuthority

        init(
            newTokens: Credentials = Fixture.newTokens,
            afterRead: @escaping @Sendable (ArchiveEntry) async -> Void = { _ in }
        ) async throws {
            (faulty, otherFaulty) = (FaultyArchiveStorage(base), FaultyArchiveStorage(base))
            authority = SteppedAuthority(supportsPerGrantRevocation: true, tokens: { newTokens })
            _ = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: base)
            store = Self.process(HookedStorage(base: faulty, afterRead: afterRead), clock)
            other = Self.process(otherFaulty, clock)
            // The first write is the intent; both tries to save the response fail.
            for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
            try await store.refresh(with: authority)
            try #require(store.account?.credentials.accessToken == Secret("access-2"))
            try #require(try await base.stateForNewProcess().text == "unverified access-1: notChecked")
        }

        /// A process that does not wait for the lock, so that a test may hold it.
        private static func process(_ storage: any ArchiveStorage, _ clock: ManualClock) -> AccountStore {
            AccountStore(
                storage: storage, appIdentifier: "testing", keySources: [InMemoryKey()], clock: clock,
                lockTimeout: .zero)
        }
    }

    /// The access tokens that a service is told of now.
    private func delivered(from storage: InMemoryArchiveStorage) async throws -> [String] {
        let service = SteppedAuthority(supportsPerGrantRevocation: true)
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        await store.deliverRevocations(with: { _ in service }, ignoringPauses: true)
        return service.revoked
    }

    // MARK: Saved later

    @Test(arguments: ["load", "token", "finish"])
    func `They are saved as soon as that can be done, whatever the process is asked next`(call: String) async throws {
        let scene = try await Scene()
        switch call {
        case "load": _ = await scene.store.load()
        case "token":
            #expect(try await scene.store.accessToken(with: scene.authority) == Secret("access-2"))
        default: await scene.store.finishPendingRequests()
        }
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
        #expect(scene.base.entries[.refreshRecord] == nil, "nothing is unfinished")
        #expect(scene.authority.requests == ["tokens"])
        #expect(try await delivered(from: scene.base).isEmpty)
    }

    @Test func `A slow load does not bring spent tokens back during the save`() async throws {
        let gate = Gate()
        let scene = try await Scene(afterRead: { if $0 == .account { await gate.pass() } })
        gate.shut()
        async let loaded = scene.store.load()
        await gate.waitForSomebody()
        // The save has written the new tokens, and removes the record of the refresh.
        scene.faulty.inject(.stalls, of: .remove)
        async let saved: Void = scene.store.finishPendingRequests()
        await scene.faulty.waitForStall()
        gate.open()
        let state = await loaded
        #expect(state.text == "unverified access-2: notChecked")
        #expect(scene.store.account?.credentials.accessToken == Secret("access-2"))
        scene.faulty.release()
        await saved
    }

    @Test(arguments: ["lock", "lease"])
    func `Nobody waits to save them, but an app's own end does`(lock: String) async throws {
        let scene = try await Scene()
        let (transaction, lease): ((any ArchiveTransaction)?, (any ArchiveLease)?) =
            lock == "lock"
            ? (try await scene.base.beginTransaction(timeout: .zero), nil)
            : (nil, try await scene.base.acquireRefreshLease(timeout: .zero))
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        await transaction?.end()
        await lease?.end()
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-1: notChecked")
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await scene.store.finishPendingRequests()
        }.value
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
    }

    @Test func `Where they cannot be saved they are tried once a second, however often somebody looks`() async throws {
        let scene = try await Scene()
        scene.faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        let count = scene.faulty.callCount
        for _ in 1...100 { #expect(await scene.store.load().text == "unverified access-2: notChecked") }
        #expect(scene.faulty.callCount == count + 100, "a read each")
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
    }

    @Test func `Nothing is tried in place of an archive that does not open`() async throws {
        let scene = try await Scene()
        scene.base.overwrite(.account, with: [1, 2, 3])
        let count = scene.faulty.callCount
        #expect(await scene.store.load().text == "unreadable: damaged")
        #expect(scene.faulty.callCount == count + 1)
    }

    // MARK: Others end their sign-in

    @Test func `After another process's sign-out they are revoked`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        #expect(await scene.store.load().text == "signed out: signedOutByUser")
        #expect(scene.store.account == nil)
        #expect(try await delivered(from: scene.base) == ["access-2"])
        #expect(try await scene.store.pendingRevocations().isEmpty)
        #expect(await scene.store.load().text == "signed out: signedOutByUser")
        #expect(try await scene.store.pendingRevocations().isEmpty, "they are queued once")
    }

    @Test func `After another user's sign-in they are revoked, and the other user stays`() async throws {
        let scene = try await Scene()
        try await scene.other.signIn { Fixture.bob }
        #expect(await scene.store.load().account == Fixture.bob)
        #expect(try await Set(delivered(from: scene.base)) == ["access-1", "access-2"])
        #expect(try await scene.base.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `Whoever takes the lock without a look before queues them too`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        await expectAccountError(.notSignedIn) { try await scene.store.update { $0.profile.points = 7 } }
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `A sign-out that has read the archive before they came does not know them, and they are revoked`()
        async throws
    {
        let scene = try await LateScene()
        try await scene.tokensCome(before: .remove) { _ = try await $0.signOut() }
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `Nor does such a sign-in`() async throws {
        let scene = try await LateScene()
        try await scene.tokensCome(before: .replace) { _ = try await $0.signIn { Fixture.bob } }
        #expect(try await Set(delivered(from: scene.base)) == ["access-1", "access-2"])
        #expect(try await scene.base.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `Their own process knows them, so that the service is told once, or not if it is not to be`()
        async throws
    {
        let told = try await Scene()
        #expect(try await told.store.signOut(with: told.authority).revocation == .done)
        #expect(told.authority.revoked == ["access-2"])
        _ = await told.store.load()
        #expect(try await delivered(from: told.base).isEmpty)

        let untold = try await Scene()
        try await untold.store.signOut()
        _ = await untold.store.load()
        #expect(try await delivered(from: untold.base).isEmpty)

        let replaced = try await Scene()
        try await replaced.store.signIn { Fixture.bob }
        _ = await replaced.store.load()
        #expect(try await delivered(from: replaced.base) == ["access-2"])
    }

    @Test(arguments: [
        // Some services leave the refresh token as it is, others take the stored one once more for a while.
        ("refresh-1", "refresh-1"), ("refresh-2", "refresh-3"),
    ])
    func `Other tokens of the user may be of the same sign-in, so they are not revoked beside them`(
        unsaved: String, stored: String
    ) async throws {
        var (newTokens, otherTokens) = (Fixture.newTokens, Fixture.newTokens)
        newTokens.refreshToken = Secret(unsaved)
        otherTokens.accessToken = Secret("access-3")
        otherTokens.refreshToken = Secret(stored)
        let scene = try await Scene(newTokens: newTokens)
        let refreshed = try await scene.other.refresh(with: SteppedAuthority(tokens: { [otherTokens] in otherTokens }))
        #expect(refreshed.credentials.accessToken == Secret("access-3"))
        #expect(await scene.store.load().account == refreshed)
        #expect(try await scene.store.pendingRevocations().isEmpty)
        #expect(try await delivered(from: scene.base).isEmpty)
        // Nor later, when nobody could tell any more.
        try await scene.other.signOut()
        #expect(await scene.store.load().account == nil)
        #expect(try await scene.store.pendingRevocations().isEmpty)
    }

    @Test func `As long as they cannot be queued they stay in memory, and the next look queues them`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        for _ in 1...3 {
            scene.faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
            #expect(await scene.store.load().account == nil)
            #expect(try await scene.store.pendingRevocations().isEmpty)
        }
        let transaction = try await scene.base.beginTransaction(timeout: .zero)
        #expect(await scene.store.load().account == nil, "nobody waits for whoever has the lock")
        await transaction.end()
        #expect(try await scene.store.pendingRevocations().isEmpty)
        _ = await scene.store.load()
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `An archive that is missing or cannot be read for a moment does not cost them`() async throws {
        let scene = try await Scene()
        let bytes = try #require(scene.base.entries[.account]?.bytes)
        let transaction = try await scene.base.beginTransaction(timeout: .zero)
        let place = try await transaction.quarantine(.account, label: "test")
        #expect(await scene.store.load().account == nil)
        try await transaction.restore(.account, from: place)
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        await transaction.end()

        scene.base.overwrite(.account, with: [1, 2, 3])
        #expect(await scene.store.load().text == "unreadable: damaged")
        await expectAccountError(.damaged) { try await scene.store.update { $0.profile.points = 7 } }
        scene.base.overwrite(.account, with: bytes)
        try await scene.store.update { $0.profile.points = 7 }
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
        #expect(try await delivered(from: scene.base).isEmpty)
    }

    // MARK: Saving them later

    @Test func `A sign-out that died before they were saved does not end the session that goes on`() async throws {
        let scene = try await Scene()
        // It puts the spent tokens into the queue, and gets no further.
        for number in 1...2 {
            scene.otherFaulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .remove)
        }
        await expectAccountError(FaultyArchiveStorage.diskFull.code) {
            try await scene.other.signOut(with: scene.authority)
        }
        #expect(try await scene.store.pendingRevocations().count == 1)
        try await scene.store.update { $0.profile.points = 7 }
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
        #expect(try await delivered(from: scene.base).isEmpty, "a service may end the whole session for a token of it")
        #expect(try await scene.store.pendingRevocations().isEmpty)
    }

    /// Alice's tokens are being refreshed, and the lock is another task's when the new ones come.
    private struct LateScene {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let storage: FaultyArchiveStorage
        let store: AccountStore
        private let gate = Gate()
        private let refresh: Task<Account, any Error>

        /// - Parameter tokensBefore: Tokens that came before, and could not be saved either.
        init(after tokensBefore: Credentials? = nil) async throws {
            storage = FaultyArchiveStorage(base)
            store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
            if let tokensBefore {
                for number in 2...3 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
                try await store.refresh(with: SteppedAuthority(tokens: { tokensBefore }))
                // They are to stay unsaved.
                storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
                _ = await store.load()
            }
            gate.shut()
            let authority = SteppedAuthority(tokens: { [gate] in
                await gate.pass()
                return Fixture.newTokens
            })
            refresh = Task { [store] in try await store.refresh(with: authority) }
            await gate.waitForSomebody()
        }

        /// Has new tokens come while `body` has the lock, and has read what was there before them.
        func tokensCome<Value: Sendable>(
            before call: FaultyArchiveStorage.Call, of body: @escaping @Sendable (AccountStore) async throws -> Value
        ) async throws -> Value {
            storage.inject(.stalls, of: call)
            let task = Task { [store] in try await body(store) }
            await storage.waitForStall()
            storage.inject(.fails(AccountError(.busy, "another task has the lock")), of: .begin)
            gate.open()
            #expect(try await refresh.value.credentials.accessToken == Secret("access-2"))
            storage.release()
            return try await task.value
        }
    }

    @Test func `Whoever saves the spent ones once more, having read them before, does not forget them`() async throws {
        let scene = try await LateScene()
        let updated = try await scene.tokensCome(before: .replace) { try await $0.update { $0.profile.points = 7 } }
        #expect(updated.credentials.accessToken == Secret("access-2"))

        #expect(try await scene.base.stateForNewProcess().text == "unverified access-1: notChecked")
        #expect(scene.store.account?.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.store.unfinishedRefresh() != nil, "what is stored is spent")
        try await scene.store.update { $0.profile.nickname = "Ally" }
        let stored = try await scene.base.stateForNewProcess().account
        #expect(stored?.credentials.accessToken == Secret("access-2"))
        #expect(stored?.profile.points == 7)
        #expect(try await scene.store.unfinishedRefresh() == nil)
    }

    @Test func `Nor does whoever saves those that could not be saved before them`() async throws {
        var before = Fixture.newTokens
        before.accessToken = Secret("access-1b")
        before.refreshToken = Secret("refresh-1b")
        let scene = try await LateScene(after: before)
        let updated = try await scene.tokensCome(before: .replace) { try await $0.update { $0.profile.points = 7 } }
        #expect(updated.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-1b: notChecked")
        #expect(scene.store.account?.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.store.unfinishedRefresh() != nil, "what is stored is spent")
        await scene.store.finishPendingRequests()
        let stored = try await scene.base.stateForNewProcess().account
        #expect(stored?.credentials.accessToken == Secret("access-2"))
        #expect(stored?.profile.points == 7)
        #expect(try await delivered(from: scene.base).isEmpty)
    }
}
