import AccountTesting
import AccountCrypto
import Synchronization
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// The revocation queue: pauses, limits and results. The simulation checks that each sign-out reaches the service, and
/// that no revocation ends a session in use.
struct RevocationTests {
    private let clock = ManualClock()

    private func signedOut(
        _ storage: any ArchiveStorage, answering answer: ScriptedAuthority.Response
    ) async throws -> (AccountStore, SignOutReport) {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        return (store, try await store.signOut(with: ScriptedAuthority(revoke: [answer], clock: clock)))
    }

    @Test(arguments: [("local:1", "local:2"), ("local:1", "alice"), ("alice", "local:1"), ("alice", "")])
    func `Assumes the same user if the service did not identify both users`(stored: String, revoked: String) {
        func account(_ id: String, _ token: Secret) -> Account {
            Account(
                id: id, issuer: "https://id.example",
                credentials: Credentials(accessToken: token, clientID: "tool", issuedAt: clock.now))
        }
        let (current, old) = (account(stored, Secret("1")), account(revoked, Secret("2")))
        #expect(current.isEnded(byRevoking: old, supportsPerGrantRevocation: false))
        #expect(!current.isEnded(byRevoking: old, supportsPerGrantRevocation: true))
    }

    @Test(
        arguments: [.noResponse(.timeout), .unavailable(status: 503, retryAfter: nil), .intercepted("a web page")]
            as [AuthorityError])
    func `Sends a failed revocation later, only once`(signal: AuthorityError) async throws {
        let storage = InMemoryArchiveStorage()
        let (store, report) = try await signedOut(storage, answering: .refuse(signal))
        #expect(report.account?.username == "alice")
        #expect(report.revocation == .queued(signal))
        #expect(store.account == nil)
        #expect(await store.load() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
        #expect(
            try await store.pendingRevocations().map(\.issuer) == ["https://auth.example.com"])

        let later = ScriptedAuthority(revoke: [.refuse(signal), .accept], clock: clock)
        clock.advance(by: .seconds(60))
        let delivery = try #require(await store.deliverRevocations { _ in later }.first)
        #expect(delivery.outcome == .queued(signal))
        #expect(delivery.issuer == "https://auth.example.com")
        clock.advance(by: .seconds(120))
        #expect(await store.deliverRevocations { _ in later }.map(\.outcome) == [.done])
        clock.advance(by: .seconds(86_400))
        #expect(await store.deliverRevocations { _ in later }.isEmpty)
        #expect(later.requests == [.revoke, .revoke])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test(
        arguments: [
            (.accept, false), (.refuse(.noResponse(.timeout)), true), (.refuse(.oauthError("invalid_client")), false),
        ] as [(ScriptedAuthority.Response, Bool)])
    func `A queued revocation needs its client until the service refuses it`(
        answer: ScriptedAuthority.Response, isUsed: Bool
    ) async throws {
        let (store, report) = try await signedOut(InMemoryArchiveStorage(), answering: answer)
        var account = try #require(report.account)
        #expect(try await store.usesClient(of: account) == isUsed)
        account.credentials.clientID = "another client"
        #expect(try await !store.usesClient(of: account))
    }

    @Test func `Revokes no token after a failed sign-out`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .remove)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut(with: authority) }
        #expect(try await store.pendingRevocations().isEmpty)

        // The state after a crash between the two steps: the queue contains tokens of the user who is still signed in.
        for number in 1...2 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .remove) }
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut(with: authority) }
        #expect(try await store.pendingRevocations().count == 1)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests.isEmpty, "a revocation would end the session of the signed-in user")
        #expect(try await store.pendingRevocations().isEmpty)
        #expect(await store.load().account?.username == "alice")
    }

    @Test func `Sends no queued revocations while the archive is unreadable`() async throws {
        let storage = InMemoryArchiveStorage()
        let (store, _) = try await signedOut(storage, answering: .refuse(.noResponse(.timeout)))
        storage.overwrite(.account, with: [1, 2, 3])
        clock.advance(by: .seconds(60))
        let authority = ScriptedAuthority(clock: clock)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests.isEmpty)
        storage.overwrite(.account, with: nil)
        #expect(await store.deliverRevocations { _ in authority }.map(\.outcome) == [.done])
        #expect(authority.requests == [.revoke])
    }

    @Test func `Seals a queued revocation so that it cannot be opened as an account`() async throws {
        let storage = InMemoryArchiveStorage()
        let (store, _) = try await signedOut(storage, answering: .refuse(.noResponse(.timeout)))
        let entry = try #require(storage.entries.first { $0.key.rawValue.hasPrefix("Revocation") })
        let text = String(decoding: entry.value.bytes, as: UTF8.self)
        for word in ["refresh-1", "access-1", "alice", "example.com"] { #expect(!text.contains(word)) }
        storage.overwrite(.account, with: entry.value.bytes)
        guard case .unreadable(let error) = await store.load() else {
            Issue.record("a queued revocation opened as an account")
            return
        }
        #expect(error.code == .wrongKeyOrDamaged)
    }

    /// Bytes that are not a record, and more bytes than an archive may have.
    @Test(arguments: ["Refresh.plist", "Revocation-1.plist", "SignOut.plist"], [3, 1024 * 1024 + 1])
    func `Signs out and in despite damaged records beside the archive`(name: String, count: Int) async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        func damage() {
            storage.overwrite(ArchiveEntry(rawValue: name), with: [UInt8](repeating: 7, count: count))
        }
        damage()
        let authority = ScriptedAuthority(clock: clock)
        try await store.signOut(with: authority)
        #expect(await store.load().account == nil)
        #expect(authority.requests == [.revoke])
        damage()
        try await store.signIn { .fresh(at: clock.now) }
        #expect(await store.load().account?.username == "alice")
    }

    @Test func `Signs out with a full disk, and sends the revocation to the service`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 1, of: .replace)
        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock)
        let report = try await store.signOut(with: authority)
        #expect(report.revocation == .lost(.noResponse(.timeout)), "no revocation is left for later")
        #expect(await store.load().account == nil)
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Keeps at most eight queued revocations for at most thirty days`() async throws {
        let storage = InMemoryArchiveStorage()
        for _ in 0..<10 {
            _ = try await signedOut(storage, answering: .refuse(.noResponse(.timeout)))
            clock.advance(by: .seconds(3600))
        }
        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let pending = try await store.pendingRevocations()
        #expect(pending.count == 8)
        #expect(pending.map { clock.now.timeIntervalSince($0.date).rounded() }.max() == 28_800.0)

        clock.advance(by: .seconds(31 * 24 * 3600))
        let authority = ScriptedAuthority(clock: clock)
        await store.deliverRevocations { _ in authority }
        #expect(authority.requests.isEmpty)
        #expect(try await store.pendingRevocations().isEmpty)
    }

    // MARK: Results

    @Test(
        arguments: [
            // The response from the service, the reported revocation, and whether it stays in the queue.
            (.success(.done), .done, false), (.success(.notSupported), .notSupported, false),
            (.failure(.noResponse(.timeout)), .queued(.noResponse(.timeout)), true),
            (
                .failure(.unavailable(status: 503, retryAfter: nil)),
                .queued(.unavailable(status: 503, retryAfter: nil)), true
            ),
            (.failure(.misconfigured("no discovery")), .queued(.misconfigured("no discovery")), true),
            (
                .failure(.oauthError("unsupported_token_type")), .refused(.oauthError("unsupported_token_type")), true
            ),
            (.failure(.unauthorized(error: nil)), .refused(.unauthorized(error: nil)), true),
        ] as [(Result<RevocationOutcome, AuthorityError>, RevocationOutcome, Bool)])
    func `Distinguishes done, queued, refused and unsupported revocations`(
        answer: Result<RevocationOutcome, AuthorityError>, outcome: RevocationOutcome, stays: Bool
    ) async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = SteppedAuthority(revocation: { try answer.get() })
        #expect(try await store.signOut(with: authority).revocation == outcome)
        #expect(try await store.pendingRevocations().count == (stays ? 1 : 0))
        #expect(authority.revoked == ["access-1"])
    }

    @Test func `Sends a refused revocation at most three times, with pauses`() async throws {
        let refusal = AuthorityError.oauthError("unsupported_token_type")
        let refusing = SteppedAuthority(revocation: { throw refusal })
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        #expect(try await store.signOut(with: refusing).revocation == .refused(refusal))
        for pause in [60.0, 120] {
            clock.advance(by: .seconds(pause - 1))
            #expect(await store.deliverRevocations { _ in refusing }.isEmpty, "no request during the pause")
            clock.advance(by: .seconds(1))
            #expect(await store.deliverRevocations { _ in refusing }.map(\.outcome) == [.refused(refusal)])
        }
        #expect(refusing.requests == ["revoke", "revoke", "revoke"])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Reports only the first refusal of a queued revocation as new`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let refusing = SteppedAuthority(revocation: { throw AuthorityError.oauthError("unsupported_token_type") })
        try await store.signOut(with: SteppedAuthority(revocation: { throw AuthorityError.noResponse(.timeout) }))
        var reports: [RevocationReport] = []
        for _ in 1...4 { reports += await store.deliverRevocations(with: { _ in refusing }, ignoringPauses: true) }
        #expect(reports.map(\.isFirstRefusal) == [true, false, false])
    }

    @Test func `Retries an undelivered revocation with pauses of at most a day`() async throws {
        let failure = AuthorityError.noResponse(.timeout)
        let failing = SteppedAuthority(revocation: { throw failure })
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        try await store.signOut(with: failing)
        let second = await store.deliverRevocations(with: { _ in failing }, ignoringPauses: false)
        #expect(second.map(\.outcome) == [.queued(failure)], "at the next request")
        for pause in (1..<11).map({ 60.0 * Double(1 << $0) }) + [86_400, 86_400] {
            clock.advance(by: .seconds(pause - 1))
            #expect(await store.deliverRevocations { _ in failing }.isEmpty)
            clock.advance(by: .seconds(1))
            let next = await store.deliverRevocations(with: { _ in failing }, ignoringPauses: false)
            #expect(next.map(\.outcome) == [.queued(failure)], "after \(pause) s")
        }
        #expect(try await store.pendingRevocations().count == 1)
    }

    @Test func `Ends a revocation's pause on request or if the clock is set back`() async throws {
        for isAskedFor in [true, false] {
            let failing = SteppedAuthority(revocation: { throw AuthorityError.noResponse(.timeout) })
            let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
            try await store.signOut(with: failing)
            await store.deliverRevocations { _ in failing }
            #expect(await store.deliverRevocations { _ in failing }.isEmpty)
            if !isAskedFor { clock.advance(by: .seconds(-2 * 86_400)) }
            let authority = SteppedAuthority()
            let reports = await store.deliverRevocations(with: { _ in authority }, ignoringPauses: isAskedFor)
            #expect(reports.map(\.outcome) == [.done])
        }
    }

    @Test func `Revokes tokens only at the service that issued them`() async throws {
        let storage = InMemoryArchiveStorage()
        var account = Account.fresh(at: clock.now)
        account.issuer = "https://other.example.com"
        let store = try await AccountStore.inMemory(signedIn: account, clock: clock, storage: storage)
        let authority = SteppedAuthority()
        guard case .queued = try await store.signOut(with: authority).revocation else {
            Issue.record("asked another service to revoke")
            return
        }
        #expect(await store.deliverRevocations(with: { _ in nil }, ignoringPauses: true).isEmpty)
        #expect(authority.requests.isEmpty)
        #expect(try await store.pendingRevocations().map(\.issuer) == ["https://other.example.com"])
    }

    @Test(arguments: [true, false])
    func `Sends no revocation that would end the stored sign-in`(supportsPerGrantRevocation: Bool) async throws {
        let storage = InMemoryArchiveStorage()
        let (store, _) = try await signedOut(storage, answering: .refuse(.noResponse(.timeout)))
        // The same user signs in again while the service is unreachable.
        try await store.signIn { Fixture.replaced }
        let authority = SteppedAuthority(supportsPerGrantRevocation: supportsPerGrantRevocation)
        await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true)
        #expect(authority.revoked == (supportsPerGrantRevocation ? ["access-1"] : []))
        #expect(await store.load().account == Fixture.replaced)
        #expect(try await store.pendingRevocations().count == (supportsPerGrantRevocation ? 0 : 1))
        // After 31 days the user signs out, and both sign-ins are revoked.
        clock.advance(by: .seconds(31 * 24 * 3600))
        try await store.signOut(with: authority)
        await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true)
        #expect(authority.revoked.sorted() == ["access-1", "other-access"])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    // MARK: Sign-ins that the same user replaced

    @Test func `Revokes the tokens of a replaced sign-in when the user signs out`() async throws {
        let store = try await replacedSignIn()
        let authority = SteppedAuthority()
        for _ in 1...3 {
            clock.advance(by: .seconds(40 * 24 * 3600))
            #expect(await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true).isEmpty)
        }
        #expect(try await store.pendingRevocations().map(\.waitsForSignOut) == [true])
        try await store.signOut(with: authority)
        await store.deliverRevocations { _ in authority }
        #expect(authority.revoked.sorted() == ["access-1", "other-access"])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Revokes a replaced sign-in up to thirty days after an offline sign-out`() async throws {
        let store = try await replacedSignIn()
        clock.advance(by: .seconds(40 * 24 * 3600))
        let offline = SteppedAuthority(revocation: { throw AuthorityError.noResponse(.timeout) })
        try await store.signOut(with: offline)
        await store.deliverRevocations(with: { _ in offline }, ignoringPauses: true)
        clock.advance(by: .seconds(29 * 24 * 3600))
        let authority = SteppedAuthority()
        await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true)
        #expect(authority.revoked.sorted() == ["access-1", "other-access"])
    }

    /// A revocation may end all sessions of the user, including those on other machines.
    @Test(arguments: ["logout --local", "rejected"])
    func `Does not revoke a replaced sign-in if the session ends in another way`(end: String) async throws {
        let store = try await replacedSignIn()
        let authority = SteppedAuthority()
        switch end {
        case "rejected":
            let rejecting = SteppedAuthority(tokens: { throw AuthorityError.oauthError("invalid_grant") })
            await expectAccountError(.notSignedIn) { try await store.refresh(with: rejecting) }
            #expect(await store.load().account == nil)
        default: try await store.signOut()
        }
        await store.deliverRevocations(with: { _ in authority }, ignoringPauses: true)
        #expect(authority.requests.isEmpty)
        #expect(try await store.pendingRevocations().map(\.waitsForSignOut) == [true])
    }

    private func replacedSignIn() async throws -> AccountStore {
        let store = try await AccountStore.inMemory(
            signedIn: .fresh(at: clock.now), clock: clock, storage: InMemoryArchiveStorage())
        try await store.signIn { Fixture.replaced }
        return store
    }

    @Test func `Prompts for a passphrase at the delivery, but not at the sign-out`() async throws {
        let storage = InMemoryArchiveStorage()
        let questions = Mutex(0)
        func process() -> AccountStore {
            let key = PassphraseKey(cost: PassphraseCost(operations: 1, memoryKiB: 8 * 1024)!) { _ in
                questions.withLock { $0 += 1 }
                return Secret("one two")
            }
            return AccountStore(storage: storage, appIdentifier: "testing", keys: [key], clock: clock)
        }
        let store = process()
        try await store.signIn { .fresh(at: clock.now) }
        let asked = questions.withLock { $0 }
        let failing = SteppedAuthority(revocation: { throw AuthorityError.noResponse(.timeout) })
        guard case .queued = try await store.signOut(with: failing).revocation else {
            Issue.record("nothing was queued")
            return
        }
        #expect(questions.withLock { $0 } == asked)
        #expect(storage.entries.keys.contains { $0.rawValue.hasPrefix("Revocation") })

        let authority = SteppedAuthority()
        #expect(await process().deliverRevocations(with: { _ in authority }, ignoringPauses: true).isEmpty)
        #expect(questions.withLock { $0 } == asked, "no question without isInteractive")
        let reports = await process().deliverRevocations(
            with: { _ in authority }, ignoringPauses: true, isInteractive: true)
        #expect(reports.map(\.outcome) == [.done])
        #expect(authority.revoked == ["access-1"])
        #expect(!storage.entries.keys.contains { $0.rawValue.hasPrefix("Revocation") })
    }

    @Test func `Counts refused revocations even if a passphrase protects the archive`() async throws {
        let storage = InMemoryArchiveStorage()
        func process() -> AccountStore {
            let key = PassphraseKey(cost: PassphraseCost(operations: 1, memoryKiB: 8 * 1024)!) { _ in Secret("one two")
            }
            return AccountStore(storage: storage, appIdentifier: "testing", keys: [key], clock: clock)
        }
        let first = process()
        try await first.signIn { .fresh(at: clock.now) }
        let refusing = SteppedAuthority(revocation: { throw AuthorityError.oauthError("unsupported_token_type") })
        try await first.signOut(with: refusing)
        for _ in 1...4 {
            await process().deliverRevocations(with: { _ in refusing }, ignoringPauses: true, isInteractive: true)
        }
        #expect(refusing.requests.count == 3)
    }
}
