import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

struct QueuedRevocationTests {
    private let clock = ManualClock(Fixture.now)

    /// A revocation in which each field differs from its initial value.
    private static let revocation: QueuedRevocation = {
        var revocation = QueuedRevocation(of: GoldenEntry.account, waitsForSignOut: true, at: Fixture.now)
        for seconds in [60.0, 120] { revocation.fail(isRefusal: true, at: Fixture.now.addingTimeInterval(seconds)) }
        return revocation
    }()

    private func expect(_ revocation: QueuedRevocation, isLike other: QueuedRevocation) {
        #expect(revocation.account == other.account)
        #expect(revocation.date == other.date)
        #expect(revocation.waitsForSignOut == other.waitsForSignOut)
        #expect(revocation.attemptCount == other.attemptCount)
        #expect(revocation.refusalCount == other.refusalCount)
        #expect(revocation.nextTry == other.nextTry)
    }

    @Test(arguments: [revocation, QueuedRevocation(of: Fixture.alice, at: Fixture.now)])
    func `Encodes a queued revocation without name and profile`(revocation: QueuedRevocation) throws {
        expect(try revocation.decoded(as: QueuedRevocation.self), isLike: revocation)
        #expect(revocation.account.username == nil)
        #expect(revocation.account.profile.fields.isEmpty)
    }

    @Test func `Writes no token in the record of a queued revocation`() throws {
        let record = try Self.revocation.recordSection
        #expect(record.starts(with: "bplist00".utf8))
        #expect(Self.revocation.sealedSecrets.count == 5)
        for sealed in Self.revocation.sealedSecrets { #expect(!record.contains(sealed.secret.reveal().utf8)) }
    }

    @Test func `Queues the tokens again in the same place after a crash`() async throws {
        let store = try await AccountStore.inMemory(
            signedIn: Fixture.alice, clock: clock, storage: InMemoryArchiveStorage())
        let vault = store.vault
        try await vault.change { draft in
            try await draft.revocations.add(Fixture.replaced)
            // The process died before it removed the account, so the next sign-out queues the same tokens.
            for _ in 1...2 { try await draft.revocations.add(Fixture.alice) }
        }
        let queued = await vault.revocations.readable().map(\.payload.account.credentials)
        #expect(queued == [Fixture.replaced.credentials, Fixture.alice.credentials])
    }

    // MARK: Golden entries

    private func store(with golden: GoldenEntry, signedIn: Account? = nil) async throws -> AccountStore {
        let storage = InMemoryArchiveStorage()
        storage.overwrite(ArchiveEntry(rawValue: "Revocation-1.plist"), with: try golden.bytes)
        return try await AccountStore.inMemory(signedIn: signedIn, clock: clock, storage: storage)
    }

    @Test func `Opens the golden queued revocations`() async throws {
        var refused = QueuedRevocation(of: GoldenEntry.account, at: Fixture.now)
        refused.fail(isRefusal: false, at: Fixture.now.addingTimeInterval(60))
        refused.fail(isRefusal: true, at: Fixture.now.addingTimeInterval(120))
        let waiting = QueuedRevocation(of: GoldenEntry.account, waitsForSignOut: true, at: Fixture.now)
        for (golden, expected) in [(GoldenEntry.refusedRevocation, refused), (.waitingRevocation, waiting)] {
            let pending = try await store(with: golden).vault.revocations.readable()
            #expect(pending.count == 1)
            expect(try #require(pending.first).payload, isLike: expected)
        }
    }

    @Test func `Keeps the pause and refusals of the golden revocation`() async throws {
        let store = try await store(with: .refusedRevocation)
        let refusing = SteppedAuthority(revocation: { throw AuthorityError.oauthError("unsupported_token_type") })
        clock.advance(by: .seconds(239))
        #expect(await store.deliverRevocations { _ in refusing }.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(await store.deliverRevocations { _ in refusing }.map(\.isFirstRefusal) == [false])
        let pending = try #require(await store.vault.revocations.readable().first).payload
        #expect(pending.attemptCount == 3 && pending.refusalCount == 2)
        #expect(pending.date == Fixture.now.addingTimeInterval(60))
        clock.advance(by: .seconds(86_400))
        #expect(await store.deliverRevocations { _ in refusing }.map(\.isFirstRefusal) == [false])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Keeps the golden revocation that waits until the sign-out`() async throws {
        let store = try await store(with: .waitingRevocation, signedIn: Fixture.replaced)
        let authority = SteppedAuthority()
        #expect(await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true).isEmpty)
        #expect(try await store.pendingRevocations().map(\.waitsForSignOut) == [true])
        try await store.signOut(with: authority)
        await store.deliverRevocations { _ in authority }
        #expect(authority.revoked.sorted() == ["access-1", "other-access"])
    }

    @Test func `Withdraws the golden revocation whose tokens are stored`() async throws {
        let store = try await store(with: .refusedRevocation, signedIn: GoldenEntry.account)
        let authority = SteppedAuthority()
        #expect(await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true).isEmpty)
        #expect(authority.revoked.isEmpty)
        #expect(try await store.pendingRevocations().isEmpty)
    }
}
