import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// New tokens that could not be saved and exist only in the memory of their process.
struct UnsavedTokensTests {
    /// Alice's new tokens exist only in the memory of one process. There is a second process.
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
            // The first write is the intent. Both attempts to save the response fail.
            for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
            try await store.refresh(with: authority)
            try #require(store.account?.credentials.accessToken == Secret("access-2"))
            try #require(try await base.stateForNewProcess().text == "unverified access-1: notChecked")
        }

        /// A process that does not wait for the lock, so that a test can hold it.
        private static func process(_ storage: any ArchiveStorage, _ clock: ManualClock) -> AccountStore {
            AccountStore(
                storage: storage, appIdentifier: "testing", keySources: [InMemoryKey()], clock: clock,
                lockTimeout: .zero)
        }
    }

    /// The access tokens that a delivery revokes now.
    private func delivered(from storage: InMemoryArchiveStorage) async throws -> [String] {
        let service = SteppedAuthority(supportsPerGrantRevocation: true)
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        await store.deliverRevocations(with: { _ in service }, ignoringPauses: true)
        return service.revoked
    }

    // MARK: Saving later

    @Test(arguments: ["load", "token", "finish"])
    func `Saves unsaved tokens at the next load, token request or finish`(call: String) async throws {
        let scene = try await Scene()
        switch call {
        case "load": _ = await scene.store.load()
        case "token":
            #expect(try await scene.store.accessToken(timeout: nil, with: scene.authority) == Secret("access-2"))
        default: await scene.store.finishPendingRequests()
        }
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
        #expect(scene.base.entries[.refreshRecord] == nil, "nothing is unfinished")
        #expect(scene.authority.requests == ["tokens"])
        #expect(try await delivered(from: scene.base).isEmpty)
    }

    @Test func `Does not restore spent tokens in a slow load during the save`() async throws {
        let gate = Gate()
        let scene = try await Scene(afterRead: { if $0 == .account { await gate.pass() } })
        gate.shut()
        async let loaded = scene.store.load()
        await gate.waitForSomebody()
        // The save has written the new tokens and is removing the refresh record.
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
    func `Waits for a lock to save tokens only in finishPendingRequests`(lock: String) async throws {
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

    @Test func `Tries to save unsaved tokens at most once a second`() async throws {
        let scene = try await Scene()
        scene.faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        let count = scene.faulty.callCount
        for _ in 1...100 { #expect(await scene.store.load().text == "unverified access-2: notChecked") }
        #expect(scene.faulty.callCount == count + 100, "one read for each call")
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.store.load().text == "unverified access-2: notChecked")
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
    }

    @Test func `Saves no unsaved tokens over an archive that cannot be opened`() async throws {
        let scene = try await Scene()
        scene.base.overwrite(.account, with: [1, 2, 3])
        let count = scene.faulty.callCount
        #expect(await scene.store.load().text == "unreadable: damaged")
        #expect(scene.faulty.callCount == count + 1)
    }

    // MARK: Ended by another process

    @Test func `Revokes unsaved tokens after another process's sign-out`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        #expect(await scene.store.load().text == "signed out: signedOutByUser")
        #expect(scene.store.account == nil)
        #expect(try await delivered(from: scene.base) == ["access-2"])
        #expect(try await scene.store.pendingRevocations().isEmpty)
        #expect(await scene.store.load().text == "signed out: signedOutByUser")
        #expect(try await scene.store.pendingRevocations().isEmpty, "the tokens are queued once")
    }

    @Test func `Revokes unsaved tokens after another user's sign-in`() async throws {
        let scene = try await Scene()
        try await scene.other.signIn { Fixture.bob }
        #expect(await scene.store.load().account == Fixture.bob)
        #expect(try await Set(delivered(from: scene.base)) == ["access-1", "access-2"])
        #expect(try await scene.base.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `Queues unsaved tokens if another change acquires the lock first`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        await expectAccountError(.notSignedIn) { try await scene.store.update { $0.profile.points = 7 } }
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `Revokes tokens that arrive during a sign-out`()
        async throws
    {
        let scene = try await LateScene()
        try await scene.tokensCome(before: .remove) { _ = try await $0.signOut() }
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `Revokes tokens that arrive during a sign-in`() async throws {
        let scene = try await LateScene()
        try await scene.tokensCome(before: .replace) { _ = try await $0.signIn { Fixture.bob } }
        #expect(try await Set(delivered(from: scene.base)) == ["access-1", "access-2"])
        #expect(try await scene.base.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `Revokes unsaved tokens once at a sign-out or sign-in in the process`()
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
        // Some services keep the refresh token, others accept the stored one again for a while.
        ("refresh-1", "refresh-1"), ("refresh-2", "refresh-3"),
    ])
    func `Does not revoke unsaved tokens beside newer tokens of the same user`(
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
        // A later load cannot determine whether the tokens belong to the same sign-in, so it does not revoke them.
        try await scene.other.signOut()
        #expect(await scene.store.load().account == nil)
        #expect(try await scene.store.pendingRevocations().isEmpty)
    }

    @Test func `Keeps unsaved tokens in memory until their revocation is queued`() async throws {
        let scene = try await Scene()
        try await scene.other.signOut()
        for _ in 1...3 {
            scene.faulty.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
            #expect(await scene.store.load().account == nil)
            #expect(try await scene.store.pendingRevocations().isEmpty)
        }
        let transaction = try await scene.base.beginTransaction(timeout: .zero)
        #expect(await scene.store.load().account == nil, "loading does not wait for the lock holder")
        await transaction.end()
        #expect(try await scene.store.pendingRevocations().isEmpty)
        _ = await scene.store.load()
        #expect(try await delivered(from: scene.base) == ["access-2"])
    }

    @Test func `Keeps unsaved tokens while the archive is missing or unreadable`() async throws {
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

    // MARK: Interrupted changes

    @Test func `Withdraws an interrupted sign-out's revocation in a save of new tokens`() async throws {
        let scene = try await Scene()
        // The sign-out queues the spent tokens and fails before it removes the account.
        for number in 1...2 {
            scene.otherFaulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .remove)
        }
        await expectAccountError(FaultyArchiveStorage.diskFull.code) {
            try await scene.other.signOut(with: scene.authority)
        }
        #expect(try await scene.store.pendingRevocations().count == 1)
        try await scene.store.update { $0.profile.points = 7 }
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-2: notChecked")
        #expect(try await delivered(from: scene.base).isEmpty, "a service may end the whole session with one token")
        #expect(try await scene.store.pendingRevocations().isEmpty)
    }

    /// Alice's tokens are being refreshed, and another task holds the lock when the new ones arrive.
    private struct LateScene {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let storage: FaultyArchiveStorage
        let store: AccountStore
        private let gate = Gate()
        private let refresh: Task<Account, any Error>

        /// - Parameter tokensBefore: Earlier tokens that could not be saved either.
        init(after tokensBefore: Credentials? = nil) async throws {
            storage = FaultyArchiveStorage(base)
            store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
            if let tokensBefore {
                for number in 2...3 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
                try await store.refresh(with: SteppedAuthority(tokens: { tokensBefore }))
                // The earlier tokens must stay unsaved.
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

        /// Sends new tokens while `body` holds the lock and has read the earlier archive.
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

    @Test func `Keeps newer unsaved tokens after an update that saves spent tokens`() async throws {
        let scene = try await LateScene()
        let updated = try await scene.tokensCome(before: .replace) { try await $0.update { $0.profile.points = 7 } }
        #expect(updated.credentials.accessToken == Secret("access-2"))

        #expect(try await scene.base.stateForNewProcess().text == "unverified access-1: notChecked")
        #expect(scene.store.account?.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.store.unfinishedRefresh() != nil, "the stored tokens are spent")
        try await scene.store.update { $0.profile.nickname = "Ally" }
        let stored = try await scene.base.stateForNewProcess().account
        #expect(stored?.credentials.accessToken == Secret("access-2"))
        #expect(stored?.profile.points == 7)
        #expect(try await scene.store.unfinishedRefresh() == nil)
    }

    @Test func `Keeps newer tokens after an update that saves earlier unsaved tokens`() async throws {
        var before = Fixture.newTokens
        before.accessToken = Secret("access-1b")
        before.refreshToken = Secret("refresh-1b")
        let scene = try await LateScene(after: before)
        let updated = try await scene.tokensCome(before: .replace) { try await $0.update { $0.profile.points = 7 } }
        #expect(updated.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.base.stateForNewProcess().text == "unverified access-1b: notChecked")
        #expect(scene.store.account?.credentials.accessToken == Secret("access-2"))
        #expect(try await scene.store.unfinishedRefresh() != nil, "the stored tokens are spent")
        await scene.store.finishPendingRequests()
        let stored = try await scene.base.stateForNewProcess().account
        #expect(stored?.credentials.accessToken == Secret("access-2"))
        #expect(stored?.profile.points == 7)
        #expect(try await delivered(from: scene.base).isEmpty)
    }
}
