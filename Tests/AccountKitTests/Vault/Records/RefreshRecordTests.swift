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

struct RefreshRecordTests {
    private let now = ManualClock().now

    private func record(after reasons: UnverifiedReason..., jitter: Double = 1) -> RefreshRecord {
        var record = RefreshRecord()
        for reason in reasons { record.fail(reason, at: now, jitter: jitter) }
        return record
    }

    @Test func `Announces the request of an intent, and no other change`() async throws {
        let announcementCount = Mutex(0)
        let storage = HookedStorage(onAnnouncement: { announcementCount.withLock { $0 += 1 } })
        let vault = Vault(storage: storage, appIdentifier: "testing", session: .default, keys: [])
        let counts = try await vault.change { draft in
            var counts: [Int] = []
            try await draft.recordFailure(.init(.offline), mayBeSpent: false)
            counts.append(announcementCount.withLock(\.self))
            _ = try await draft.beginExchange(isSpending: true, after: 1) {}
            counts.append(announcementCount.withLock(\.self))
            try await draft.recordFailure(.init(.offline), mayBeSpent: true)
            try await draft.forgetRefreshRecord()
            counts.append(announcementCount.withLock(\.self))
            return counts
        }
        #expect(counts == [0, 1, 1])
    }

    @Test func `Doubles the refresh delay from 2 s up to 5 min`() {
        var record = RefreshRecord()
        var waits: [Double?] = []
        for _ in 0..<2000 {
            record.fail(.init(.serverError), at: now, jitter: 1)
            waits.append(record.wait(at: now))
        }
        #expect(waits.prefix(9) == [2, 4, 8, 16, 32, 64, 128, 256, 300])
        #expect(waits.last == 300)
        #expect(record.wait(at: now.addingTimeInterval(300)) == nil)
    }

    @Test func `Reports a non-renewable session after two rejections a minute apart`() {
        let refusal = UnverifiedReason.refusal
        func isRefused(_ failures: (UnverifiedReason, after: TimeInterval)...) -> Bool {
            var record = RefreshRecord()
            for (reason, seconds) in failures { record.fail(reason, at: now.addingTimeInterval(seconds), jitter: 1) }
            return record.isRefused
        }
        #expect(!isRefused((refusal, 0)))
        #expect(!isRefused((refusal, 0), (refusal, 59)))
        #expect(isRefused((refusal, 0), (refusal, 30), (refusal, 60)))
        // An offline failure in between does not count; any other response starts over.
        #expect(isRefused((refusal, 0), (.init(.offline), 30), (refusal, 60)))
        #expect(!isRefused((refusal, 0), (.init(.serverError), 30), (refusal, 60)))
        #expect(!isRefused((.init(.misconfigured, detail: "invalid_client"), 0), (refusal, 60)))
        #expect(record(after: refusal).pause(at: now)?.refusesRenewal == true)
        #expect(record(after: refusal, .init(.offline)).pause(at: now)?.refusesRenewal == false)
        #expect(record(after: refusal, .init(.offline)).refusedSince != nil)
        #expect(record(after: refusal, .init(.serverError)).refusedSince == nil)
    }

    @Test func `Retries a refresh after at most 5 s if the service was unreachable`() {
        var record = RefreshRecord()
        var waits: [Double?] = []
        for _ in 0..<100 {
            record.fail(.init(.offline), at: now, jitter: 1)
            waits.append(record.wait(at: now))
        }
        #expect(waits.prefix(4) == [2, 4, 5, 5])
        #expect(waits.last == 5)
    }

    @Test func `Spreads the retries of processes whose refreshes failed together`() {
        #expect(record(after: .init(.offline), jitter: 0.5).wait(at: now) == 1)
    }

    @Test func `Honors Retry-After between 2 s and 5 min after a failed refresh`() {
        #expect(record(after: .init(.rateLimited, retryAfter: .seconds(30))).wait(at: now) == 30)
        #expect(record(after: .init(.rateLimited, retryAfter: .seconds(1))).wait(at: now) == 2)
        #expect(record(after: .init(.rateLimited, retryAfter: .seconds(86400))).wait(at: now) == 300)
    }

    @Test(arguments: [
        "offline": "offline", "rateLimited": "rateLimited", "misconfigured": "misconfigured", "x": "serverError",
    ])
    func `Reports one process's failure as a server error to other processes`(
        recorded: String, told: String
    ) {
        let record = record(after: .init(.init(rawValue: recorded)))
        #expect(record.pause(at: now)?.code.rawValue == told)
        #expect(record.pause(at: now.addingTimeInterval(300)) == nil)
    }

    @Test func `Ends the refresh delay if the clock is set back`() {
        let record = record(after: .init(.serverError))
        #expect(record.wait(at: now.addingTimeInterval(1)) == 1)
        #expect(record.wait(at: now.addingTimeInterval(-3600)) == nil)
        #expect(RefreshRecord().wait(at: now) == nil)
    }

    @Test func `Records date, failure count, reason and next retry of a refresh`() throws {
        var record = RefreshRecord(date: now)
        #expect(RefreshRecord.decode(try record.encode()) == record)
        record.fail(.init(.serverError), at: now, jitter: 1)
        let decoded = try #require(RefreshRecord.decode(try record.encode()))
        #expect(decoded == record)
        #expect(decoded.date == now && decoded.reason == "serverError" && decoded.failureCount == 1)
        #expect(decoded.nextTry == now.addingTimeInterval(2))
    }

    /// The fields of the record in the versions that wrote XML.
    private struct EarlierRecord: Codable {
        var date: Date?
        var failureCount: Int?
        var reason: String?
        var detail: String?
        var nextTry: Date?
        var refusedSince: Date?
        var refusedAt: Date?
    }

    @Test func `Exchanges records with versions that wrote XML`() throws {
        var refusal = UnverifiedReason(.misconfigured, detail: "the client was removed from “Café”")
        refusal.refusesRenewal = true
        var record = record(after: .init(.serverError), refusal)
        record.date = now
        let bytes = try record.encode()
        #expect(bytes.starts(with: "bplist00".utf8))
        let earlier = try PropertyListDecoder().decode(EarlierRecord.self, from: Data(bytes))
        #expect(earlier.date == now && earlier.failureCount == 2 && earlier.reason == record.reason)
        #expect(earlier.detail == record.detail && earlier.nextTry == record.nextTry)
        #expect(earlier.refusedSince == now && earlier.refusedAt == now)
        let decoded = try #require(RefreshRecord.decode([UInt8](try PropertyListEncoder.xml.encode(earlier))))
        #expect(decoded.date == now && decoded.failureCount == 2 && decoded.detail == record.detail)
        #expect(decoded.refusedAt == now && decoded.refusedSince == now)
    }

    @Test(
        arguments: [
            ["date": "x"], ["failureCount": "x"], ["failureCount": 1.5], ["reason": 1], ["nextTry": true], [:],
        ] as [[String: ProfileValue]])
    func `Decodes a record with a field of another type as nil`(fields: [String: ProfileValue]) throws {
        #expect(RefreshRecord.decode(try RecordPropertyListWriter.write(fields)) == nil)
    }

    @Test(arguments: ["", "{}", "bplist00", "\u{0}", "<plist><dict><key>date</key><string>x</string></dict></plist>"])
    func `Decodes a damaged refresh record as nil`(text: String) {
        #expect(RefreshRecord.decode(Array(text.utf8)) == nil)
    }

    @Test func `Shows the detail of a failure only if no other machine can write it`() {
        let record = record(after: .init(.offline, detail: "the connection to a.example was refused\u{1B}[2J"))
        let shown = record.pause(at: now)
        #expect(shown?.code == .offline && shown?.detail?.hasPrefix("the connection to a.example was refused") == true)
        #expect(shown?.detail?.contains("\u{1B}") == false)
        #expect(record.pause(at: now, isShared: true) == .init(.offline, retryAfter: .seconds(3)))
        // Other reasons may concern only the other process.
        #expect(self.record(after: .init(.busy)).pause(at: now) == .init(.serverError, retryAfter: .seconds(3)))
        let long = self.record(after: .init(.unclearReply, detail: String(repeating: "x", count: 10_000)))
        #expect(long.detail?.count == 300)
    }

    // MARK: Shared

    @Test func `Sends no refresh from any process right after the service failed`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let first = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: .seconds(30)), clock: clock, storage: storage)
        let second = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.refuse(.noResponse(.timeout)), .accept], clock: clock)
        for store in [first, second, first, second] {
            #expect(
                try await store.accessToken(minimumValidity: .seconds(60), timeout: nil, with: authority)
                    == Secret("access-1"))
        }
        #expect(authority.requests == [.refresh])
        clock.advance(by: .seconds(2))
        #expect(
            try await second.accessToken(minimumValidity: .seconds(60), timeout: nil, with: authority)
                == Secret("access-2"))
        #expect(
            try await first.accessToken(minimumValidity: .seconds(60), timeout: nil, with: authority)
                == Secret("access-2"))
        #expect(storage.entries[.refreshRecord] == nil, "a success ends the wait")
        #expect(authority.requests == [.refresh, .refresh])
    }

    @Test func `Sends no second refresh for a caller that waited for a failed refresh`() async throws {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        let first = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: base)
        let second = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let gate = Gate()
        gate.shut()
        let failing = SteppedAuthority(tokens: {
            await gate.pass()
            throw AuthorityError.unavailable(status: 503, retryAfter: .seconds(20))
        })
        let refresh = Task { await first.checkSession(with: failing, timeout: nil) }
        await gate.waitForSomebody()
        let authority = ScriptedAuthority(clock: clock)
        storage.inject(.stalls, of: .lease)
        let waiting = Task { await second.checkSession(with: authority, timeout: nil) }
        await storage.waitForStall()
        gate.open()
        #expect(await refresh.value.text == "unverified access-1: serverError")
        storage.release()
        let state = await waiting.value
        #expect(state.text == "unverified access-1: serverError")
        guard case .unverified(_, let reason) = state else { return }
        #expect(reason == .init(.serverError, detail: "503", retryAfter: .seconds(21)))
        #expect(authority.requests.isEmpty)
        // An explicit refresh ignores the failure that the caller has seen.
        #expect(try await second.refresh(with: authority).credentials.accessToken == Secret("access-2"))
    }

    @Test func `Refreshes at once if the record is unusable or the clock was set back`()
        async throws
    {
        for fault in ["clock", "damaged", "unreadable"] {
            let clock = ManualClock()
            let base = InMemoryArchiveStorage()
            let failing = ScriptedAuthority(
                refresh: [.refuse(.unavailable(status: 503, retryAfter: nil))], clock: clock)
            let before = try await AccountStore.inMemory(
                signedIn: .testing(at: clock.now, expiringIn: .seconds(30)), clock: clock, storage: base)
            _ = try await before.accessToken(timeout: nil, with: failing)
            switch fault {
            case "clock": clock.advance(by: .seconds(-250))
            case "damaged": base.overwrite(.refreshRecord, with: [1, 2, 3])
            default: break
            }
            let isFailing = Latch()
            let storage = HookedStorage(
                base: base,
                onRead: { entry in
                    if entry == .refreshRecord, fault == "unreadable", isFailing.trip() {
                        throw AccountError(.inaccessible, "no permission")
                    }
                })
            let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
            let authority = ScriptedAuthority(clock: clock)
            #expect(
                try await store.accessToken(minimumValidity: .seconds(600), timeout: nil, with: authority)
                    == Secret("access-2"),
                "\(fault)")
        }
    }

    @Test(arguments: ["sign-out", "refresh", "check"], [true, false])
    func `Ends the session even if the refresh record cannot be removed`(
        end: String, isRemovable: Bool
    ) async throws {
        let clock = ManualClock()
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(
            verify: [.refuse(.rejected("closed"))],
            refresh: [.refuse(.noResponse(.timeout)), .refuse(.oauthError("invalid_grant"))], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: authority) }
        #expect(base.entries[.refreshRecord] != nil)
        // The first removal is the account, the second is the record.
        if !isRemovable { storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2, of: .remove) }
        switch end {
        case "sign-out": try await store.signOut()
        case "refresh": await expectAccountError(.notSignedIn) { try await store.refresh(with: authority) }
        default: _ = await store.checkSession(with: authority, timeout: nil)
        }
        #expect(store.account == nil)
        #expect(base.entries[.account] == nil)
        #expect((base.entries[.refreshRecord] == nil) == isRemovable)
    }

    @Test func `Treats a refresh as unfinished only after its response was lost`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let gate = Gate()
        gate.shut()
        let authority = SteppedAuthority(tokens: {
            await gate.pass()
            throw AuthorityError.noResponse(.timeout)
        })
        let refresh = Task { await store.checkSession(with: authority, timeout: nil) }
        await gate.waitForSomebody()
        let record = try #require(storage.entries[.refreshRecord])
        #expect(RefreshRecord.decode(record.bytes)?.date == clock.now)
        #expect(try await other.unfinishedRefresh() == nil, "the lease holder may still finish the refresh")
        gate.open()
        #expect(await refresh.value.text == "unverified access-1: offline")
        #expect(try await other.unfinishedRefresh() == clock.now)
        // The date is that of the first refresh that may have spent the token.
        let first = clock.now
        clock.advance(by: .seconds(60))
        _ = await store.checkSession(with: ScriptedAuthority(refresh: [.refuse(.noResponse(.refused))], clock: clock))
        #expect(try await other.unfinishedRefresh() == first)
        _ = await store.checkSession(with: ScriptedAuthority(clock: clock))
        #expect(try await other.unfinishedRefresh() == nil)
    }
}

/// Returns true only on the first call.
private final class Latch: Sendable {
    private let gate = Mutex(true)

    func trip() -> Bool {
        gate.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
    }
}
