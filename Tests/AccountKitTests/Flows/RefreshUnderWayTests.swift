import AccountTesting
import Synchronization
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// The callers and observers of a refresh that waits for the service. ``RefreshFlowSearchTests`` and the simulation have
/// the actions of other processes during a refresh.
struct RefreshUnderWayTests {
    /// A refresh of Alice's tokens that one process has sent, and a second process.
    private final class Scene: Sendable {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let store: AccountStore
        let other: AccountStore
        let authority: SteppedAuthority
        let gate = Gate()
        let refresh: Task<Account, any Error>

        init(answering answer: AuthorityError? = nil) async throws {
            store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: base)
            // The lock timeout of this store is zero, so each call fails if the refresh holds the lock.
            other = AccountStore(
                storage: base, appIdentifier: "testing", keys: [InMemoryKey()], clock: clock, lockTimeout: .zero)
            _ = await other.load()
            gate.shut()
            authority = SteppedAuthority(tokens: { [gate] in
                await gate.pass()
                if let answer { throw answer }
                return Fixture.newTokens
            })
            refresh = Task { [store, authority] in try await store.refresh(with: authority) }
            await gate.waitForSomebody()
        }

        /// The stored state after the response has arrived.
        func finish() async throws -> SessionState {
            gate.open()
            await store.finishPendingRequests()
            return try await base.stateForNewProcess()
        }
    }

    @Test func `Sends no token after a suspension longer than the lease`()
        async throws
    {
        let (clock, base) = (ManualClock(), InMemoryArchiveStorage())
        let asked = Mutex<[Duration]>([])
        let storage = HookedStorage(
            base: base,
            onSending: { duration in
                asked.withLock { $0.append(duration) }
                return false
            })
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = SteppedAuthority()
        await #expect(throws: AccountError.self) { try await store.refresh(with: authority) }
        #expect(authority.requests == [])
        #expect(asked.withLock { $0 } == [authority.tokenRequestTimeout])
        // No token was spent, so there is no unfinished refresh.
        #expect(try await store.unfinishedRefresh() == nil)
        #expect(
            try await base.stateForNewProcess().account?.credentials.accessToken
                == store.account?.credentials.accessToken)
    }

    @Test(arguments: [false, true])
    func `Saves the response of a refresh that lost its lock or lease`(
        isLeaseLost: Bool
    ) async throws {
        let (clock, base) = (ManualClock(), InMemoryArchiveStorage())
        let endCount = Mutex(0)
        let faulty = FaultyArchiveStorage(base)
        let storage = HookedStorage(
            base: faulty, onLeaseEnd: { endCount.withLock { $0 += 1 } },
            onSending: { duration in duration > .zero || !isLeaseLost })
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        // The first write is the intent, the second the account.
        faulty.inject(.fails(AccountError(.conflict, "the lock was lost")), at: 2, of: .replace)
        let account = try await store.refresh(with: SteppedAuthority())
        #expect(account.credentials.hasSameTokens(as: Fixture.newTokens))
        let stored = try #require(try await base.stateForNewProcess().account)
        #expect(stored.credentials.hasSameTokens(as: Fixture.newTokens))
        #expect(try await store.unfinishedRefresh() == nil)
        // Checking for an unfinished refresh acquires no lease, because there is no record.
        #expect(endCount.withLock { $0 } == (isLeaseLost ? 2 : 1))
    }

    // MARK: Waiting callers

    @Test func `Saves the tokens of a refresh after every caller has left`() async throws {
        let scene = try await Scene()
        let state = await scene.store.checkSession(with: scene.authority, timeout: .zero)
        #expect(state.text == "unverified access-1: awaitingResponse")
        await expectAccountError(.serviceUnavailable) {
            try await scene.store.accessToken(timeout: .zero, with: scene.authority)
        }
        // The last caller leaves too.
        scene.refresh.cancel()
        await expectAccountError(.cancelled) { try await scene.refresh.value }
        #expect(!scene.store.hasFinishedExchanges)
        #expect(try await scene.finish().account?.credentials.accessToken == Secret("access-2"))
        #expect(scene.store.hasFinishedExchanges)
        #expect(scene.authority.requests == ["tokens"])
    }

    @Test func `Returns the unexpired token to a caller that cannot wait for a refresh`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: .seconds(30)), clock: clock)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let first = Task { try await store.accessToken(minimumValidity: .seconds(60), timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        let token = try await store.accessToken(minimumValidity: .seconds(60), timeout: .zero, with: authority)
        #expect(token == Secret("access-1"))
        authority.release()
        #expect(try await first.value == Secret("access-2"))
    }

    @Test func `Returns at once from finishPendingRequests without an exchange`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice)
        await store.finishPendingRequests()
        #expect(store.hasFinishedExchanges)
    }

    @Test func `Waits in finishPendingRequests until an abandoned lease is released`() async throws {
        let storage = SlowLetter()
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice, storage: storage)
        await expectAccountError(.busy) { try await store.refresh(with: SteppedAuthority(), timeout: .zero) }
        await store.finishPendingRequests()
        #expect(storage.leaseCount.withLock { $0 } == 0)
        #expect(storage.count.withLock { $0 } == 1)
    }

    @Test func `Abandons the wait for another process if the caller times out`() async throws {
        let scene = try await Scene()
        let third = try await AccountStore.inMemory(signedIn: nil, clock: scene.clock, storage: scene.base)
        let authority = SteppedAuthority()
        for _ in 1...20 {
            let state = await third.checkSession(with: authority, timeout: .zero)
            #expect(state.text == "unverified access-1: busy")
        }
        await expectAccountError(.busy) { try await third.refresh(with: authority, timeout: .zero) }
        #expect(third.hasFinishedExchanges, "an unsent request is not pending")
        _ = try await scene.finish()
        // The abandoned refresh either has ended or finds the new tokens.
        let lease = try await scene.base.acquireRefreshLease(timeout: .seconds(10))
        await lease.end()
        #expect(authority.requests.isEmpty)
    }

    @Test(arguments: ["lease", "lock", "intent"])
    func `Abandons an unsent refresh when the last caller leaves`(point: String) async throws {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let faulty = FaultyArchiveStorage(base)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let storage = HookedStorage(base: faulty, onLeaseEnd: { end.yield() })
        _ = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: base)
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        switch point {
        case "lease": faulty.inject(.stalls, of: .lease)
        case "lock": faulty.inject(.stalls, of: .begin)
        default: faulty.inject(.stalls, of: .reserve)
        }
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        let authority = ScriptedAuthority(clock: clock)
        let first = Task { try await store.refresh(with: authority) }
        await faulty.waitForStall()
        let second = Task { await store.checkSession(with: authority, timeout: .zero) }
        #expect(await second.value.text == "unverified access-1: busy")
        first.cancel()
        await expectAccountError(.cancelled) { try await first.value }
        #expect(store.hasFinishedExchanges)
        faulty.release()
        for await _ in ended { break }
        #expect(authority.requests.isEmpty, "no request is left without a caller")
        #expect(base.entries[.refreshRecord] == nil)
        #expect(recorder.counts[1] == 0)
        // A new caller starts again.
        #expect(try await store.refresh(with: authority).credentials.accessToken == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    // MARK: Observers

    @Test func `Reports a start and an end for each exchange, whatever the result`() async throws {
        for answer in [nil] + Fixture.authorityErrors.map(Optional.some) {
            for signsOut in [false, true] {
                let scene = try await Scene(answering: answer)
                let recorder = ExchangeRecorder()
                scene.store.observeExchanges(recorder)
                if signsOut { try await scene.other.signOut() }
                _ = try await scene.finish()
                _ = await scene.refresh.result
                // That exchange had begun before the recorder was added.
                #expect(recorder.counts == [0, -1])

                let next = ExchangeRecorder()
                scene.store.observeExchanges(next)
                try await scene.store.signIn { Fixture.expired }
                let authority = ScriptedAuthority(refresh: [answer.map { .refuse($0) } ?? .accept], clock: scene.clock)
                _ = await scene.store.checkSession(with: authority, timeout: nil)
                #expect(next.counts == [1, 0])
            }
        }
    }

    @Test func `Reports no exchange for a refresh that could not be saved`() async throws {
        let clock = ManualClock()
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let recorder = ExchangeRecorder()
        store.observeExchanges(recorder)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .reserve)
        _ = await store.checkSession(with: ScriptedAuthority(clock: clock))
        #expect(recorder.counts == [0, 0])
        // Recording the intent is the last step that can fail.
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
        let authority = ScriptedAuthority(clock: clock)
        _ = await store.checkSession(with: authority, timeout: nil)
        #expect(recorder.counts == [1, 0])
        #expect(authority.requests.isEmpty)
    }
}

/// A storage whose leases are never granted, and whose cancelled requests end late.
private final class SlowLetter: ArchiveStorage {
    private let base = InMemoryArchiveStorage()
    let count = Mutex(0)
    let leaseCount = Mutex(0)

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await base.read(entry) }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await base.beginTransaction(timeout: timeout)
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        count.withLock { $0 += 1 }
        leaseCount.withLock { $0 += 1 }
        // Throws on cancellation.
        try? await Task.sleep(for: .seconds(3600))
        for _ in 1...1000 { await Task.yield() }
        leaseCount.withLock { $0 -= 1 }
        throw CancellationError()
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { base.changes(of: entry) }
}
