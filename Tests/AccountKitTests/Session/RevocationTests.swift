import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

struct RevocationTests {
    private let clock = ManualClock()

    private func signedOut(
        _ storage: any ArchiveStorage, answering answer: ScriptedAuthority.Answer
    ) async throws -> (AccountStore, SignOutReport) {
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        return (store, try await store.signOut(with: ScriptedAuthority(revoke: [answer], clock: clock)))
    }

    @Test func `A service that takes the sign-out leaves nothing behind`() async throws {
        let storage = InMemoryArchiveStorage()
        let (store, report) = try await signedOut(storage, answering: .accept)
        #expect(report.revocation == .done)
        #expect(try await store.pendingRevocations().isEmpty)
        #expect(storage.entries.keys.map(\.rawValue) == ["SignOut.plist"])
    }

    @Test(
        arguments: [.noReply(.timeout), .unavailable(status: 503, retryAfter: nil), .intercepted("a web page")]
            as [AuthoritySignal])
    func `A service that cannot be told is told later, once`(signal: AuthoritySignal) async throws {
        let storage = InMemoryArchiveStorage()
        let (store, report) = try await signedOut(storage, answering: .refuse(signal))
        #expect(report.account?.username == "alice")
        #expect(report.revocation == .queued(signal))
        #expect(store.account == nil)
        #expect(await store.load() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
        #expect(
            try await store.pendingRevocations().map(\.issuer) == ["https://auth.example.com"])

        let later = ScriptedAuthority(revoke: [.refuse(signal), .accept], clock: clock)
        #expect(await store.deliverRevocations { _ in later }.map(\.signal) == [signal])
        #expect(await store.deliverRevocations { _ in later }.isEmpty)
        #expect(await store.deliverRevocations { _ in later }.isEmpty)
        #expect(later.requests == [.revoke, .revoke])
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `A sign-out that failed is not told to the service later`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .remove)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut(with: authority) }
        #expect(try await store.pendingRevocations().isEmpty)

        // As after a crash between the two: the queue has the tokens of who is signed in.
        for number in 1...2 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .remove) }
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut(with: authority) }
        #expect(try await store.pendingRevocations().count == 1)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests.isEmpty, "the service would end the session of somebody who is signed in")
        #expect(try await store.pendingRevocations().isEmpty)
        #expect(await store.load().account?.username == "alice")
    }

    @Test func `While an archive cannot be read no service is told anything`() async throws {
        let storage = InMemoryArchiveStorage()
        let (store, _) = try await signedOut(storage, answering: .refuse(.noReply(.timeout)))
        storage.overwrite(.account, with: [1, 2, 3])
        let authority = ScriptedAuthority(clock: clock)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests.isEmpty)
        storage.overwrite(.account, with: nil)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests == [.revoke])
    }

    @Test func `What waits is sealed, says nothing of the user, and signs nobody in again`() async throws {
        let storage = InMemoryArchiveStorage()
        let (store, _) = try await signedOut(storage, answering: .refuse(.noReply(.timeout)))
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

    @Test func `A disk that is full keeps nobody signed in, and the service is asked all the same`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 1, of: .replace)
        let authority = ScriptedAuthority(revoke: [.refuse(.noReply(.timeout))], clock: clock)
        let report = try await store.signOut(with: authority)
        #expect(report.revocation == .lost(.noReply(.timeout)), "there is nothing to tell the service later")
        #expect(await store.load().account == nil)
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `A sign-out that is under way is not taken for one that died`() async throws {
        let base = InMemoryArchiveStorage()
        let (storage, otherStorage) = (FaultyArchiveStorage(base), FaultyArchiveStorage(base))
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let other = try await AccountStore.testing(signedIn: nil, clock: clock, storage: otherStorage)
        let authority = ScriptedAuthority(clock: clock)

        // It has queued the tokens, and not cleared the account yet, when another process looks into the queue.
        storage.inject(.stalls, of: .remove)
        let signOut = Task {
            try await store.signOut(with: ScriptedAuthority(revoke: [.refuse(.noReply(.timeout))], clock: clock))
        }
        await storage.waitForStall()
        otherStorage.inject(.stalls, of: .begin)
        let delivery = Task { await other.deliverRevocations { _ in authority }.count }
        await otherStorage.waitForStall()
        storage.release()
        #expect(try await signOut.value.revocation == .queued(.noReply(.timeout)))
        otherStorage.release()
        #expect(await delivery.value == 0)
        #expect(authority.requests == [.revoke], "the sign-out was forgotten")
        #expect(try await store.pendingRevocations().isEmpty)
    }

    @Test func `Tokens that a sign-out left in the queue when it died are not revoked after a refresh`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        for number in 1...2 { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .remove) }
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signOut(with: authority) }
        #expect(try await store.pendingRevocations().count == 1)

        try await store.refresh(with: authority)
        #expect(try await store.pendingRevocations().isEmpty)
        await store.deliverRevocations { _ in authority }
        #expect(authority.requests == [.refresh], "a service may end the whole session for a token of it")
        #expect(await store.load().account?.username == "alice")
    }

    @Test func `There are at most eight, and none is older than thirty days`() async throws {
        let storage = InMemoryArchiveStorage()
        for _ in 0..<10 {
            _ = try await signedOut(storage, answering: .refuse(.noReply(.timeout)))
            clock.advance(by: 3600)
        }
        let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        let pending = try await store.pendingRevocations()
        #expect(pending.count == 8)
        #expect(pending.map { clock.now.timeIntervalSince($0.date).rounded() }.max() == 28_800.0)

        clock.advance(by: 31 * 24 * 3600)
        let authority = ScriptedAuthority(clock: clock)
        await store.deliverRevocations { _ in authority }
        #expect(authority.requests.isEmpty)
        #expect(try await store.pendingRevocations().isEmpty)
    }
}
