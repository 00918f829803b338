import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// A refresh while another process holds the lease, until the end of the test unless the test releases it.
struct WaitingForAnotherTests {
    private let clock = ManualClock()
    private let base = InMemoryArchiveStorage()
    private let other: AccountStore
    private let lease: any ArchiveLease

    init() async throws {
        other = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: base)
        lease = try await base.acquireRefreshLease(timeout: .zero)
    }

    /// Starts a task that requests new tokens. The task observes the archive when this function returns.
    private func waiting(
        changes: AsyncThrowingStream<Void, any Error>? = nil, _ authority: ScriptedAuthority
    ) async throws -> Task<Account, any Error> {
        let (listens, continuation) = AsyncStream.makeStream(of: ArchiveEntry.self)
        let storage = HookedStorage(base: base, onListen: { continuation.yield($0) }, changes: changes)
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let task = Task { try await store.refresh(with: authority, timeout: nil) }
        var entries: Set<ArchiveEntry> = []
        for await entry in listens where entries.insert(entry).inserted && entries.count == 2 { break }
        return task
    }

    @Test func `Returns another process's tokens to a waiting refresh at once`() async throws {
        let authority = ScriptedAuthority(clock: clock)
        let waiting = try await waiting(authority)
        try await other.signIn { Fixture.replaced }
        #expect(try await waiting.value == Fixture.replaced)
        #expect(authority.requests.isEmpty)
    }

    @Test func `Ends a waiting refresh as soon as the session ends`() async throws {
        let authority = ScriptedAuthority(clock: clock)
        let waiting = try await waiting(authority)
        try await other.signOut()
        await expectAccountError(.notSignedIn) { try await waiting.value }
        #expect(authority.requests.isEmpty)
    }

    @Test func `Sends no refresh after another process's failure during the wait`() async throws {
        let authority = ScriptedAuthority(clock: clock)
        let waiting = try await waiting(authority)
        let transaction = try await lease.beginTransaction(timeout: .seconds(60))
        try await VaultDraft(vault: other.vault, transaction: transaction)
            .recordFailure(UnverifiedReason(.serverError), mayBeSpent: true)
        await transaction.end()
        await expectAccountError(.serviceUnavailable) { try await waiting.value }
        #expect(authority.requests.isEmpty)
    }

    @Test(arguments: [true, false])
    func `Keeps a refresh waiting for another process after any other change`(isTold: Bool) async throws {
        let authority = ScriptedAuthority(clock: clock)
        let waiting = try await waiting(changes: isTold ? nil : AsyncThrowingStream { $0.finish() }, authority)
        try await other.update { $0.profile.points = 7 }
        #expect(authority.requests.isEmpty)
        await lease.end()
        #expect(try await waiting.value.profile.points == 7)
        #expect(authority.requests == [.refresh])
    }

    @Test func `Releases a lease that a waiting refresh acquires too late`() async throws {
        let waiting = try await waiting(ScriptedAuthority(clock: clock))
        try await other.signIn { Fixture.replaced }
        _ = try await waiting.value
        await lease.end()
        let next = try await base.acquireRefreshLease(timeout: .zero)
        await next.end()
    }
}
