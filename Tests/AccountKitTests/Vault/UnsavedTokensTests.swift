import AccountTesting
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// New tokens that could not be saved and exist only in the memory of their process: when the process saves or queues
/// them. The simulation checks what other processes see, and that the tokens are revoked after a sign-out.
struct UnsavedTokensTests {
    /// Alice's new tokens exist only in the memory of one process. There is a second process.
    private struct Scene {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let faulty: FaultyArchiveStorage
        let store: AccountStore
        let other: AccountStore
        let authority: SteppedAuthority

        init(newTokens: Credentials = Fixture.newTokens) async throws {
            faulty = FaultyArchiveStorage(base)
            authority = SteppedAuthority(supportsPerGrantRevocation: true, tokens: { newTokens })
            _ = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: base)
            store = Self.process(faulty, clock)
            other = Self.process(base, clock)
            // The first write is the intent. Both attempts to save the response fail.
            for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
            try await store.refresh(with: authority)
            try #require(store.account?.credentials.accessToken == Secret("access-2"))
            try #require(try await base.stateForNewProcess().text == "unverified access-1: notChecked")
        }

        /// A process that does not wait for the lock, so that a test can hold it.
        private static func process(_ storage: any ArchiveStorage, _ clock: ManualClock) -> AccountStore {
            AccountStore(
                storage: storage, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock,
                lockTimeout: .zero)
        }
    }

    /// The access tokens that a delivery revokes now.
    private func delivered(from storage: InMemoryArchiveStorage) async throws -> [String] {
        let service = SteppedAuthority(supportsPerGrantRevocation: true)
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
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

    // MARK: Ended by another process

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
}
