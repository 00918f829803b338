import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct AccountStoreTests {
    // MARK: Start-up

    @Test func `An account that was signed in is there after the next start`() async throws {
        let storage = InMemoryArchiveStorage()
        let clock = ManualClock()
        let account = Account.fresh(at: clock.now)
        _ = try await AccountStore.testing(signedIn: account, clock: clock, storage: storage)

        let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        #expect(store.account == nil)
        #expect(await store.load() == .unverified(account, .init(.notChecked)))
        #expect(store.account == account)
    }

    @Test func `An expired token is refreshed silently`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let state = await store.checkSession(with: authority)
        #expect(state.account?.credentials.accessToken == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Offline, an account is kept, and online it is confirmed`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(verify: [.refuse(.noReply(.unreachable)), .accept], clock: clock)
        #expect(await store.checkSession(with: authority).text == "unverified access-1: offline")
        #expect(await store.checkSession(with: authority).text == "verified access-1")
        #expect(store.account?.verifiedAt == clock.now)
    }

    @Test func `A confirmation is asked for again when its time is over, and when the clock was stepped back`()
        async throws
    {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let policy = CheckPolicy(maximumAge: 900)
        var requestCount = 0
        for (seconds, asks) in [(0.0, true), (899, false), (1, true), (-1, true), (0, false)] {
            clock.advance(by: seconds)
            _ = await store.checkSession(with: authority, policy: policy)
            requestCount += asks ? 1 : 0
            #expect(authority.requests.count == requestCount)
        }
    }

    @Test(arguments: [-1e9, -1e6, -1, 0, 1, 1e6, 1e9])
    func `A step of the clock signs nobody out`(seconds: TimeInterval) async throws {
        let clock = ManualClock()
        let service = ModelService(clock: clock, isStrict: true)
        let store = try await AccountStore.testing(signedIn: service.account(of: "alice"), clock: clock)
        clock.advance(by: seconds)
        guard case .verified = await store.checkSession(with: service) else {
            Issue.record("the session was lost")
            return
        }
        clock.advance(by: -2 * seconds)
        #expect(try await service.verify(#require(store.account)).username == "alice")
        service.trouble = .noReply(.unreachable)
        #expect(await store.checkSession(with: service).account?.username == "alice")
    }

    @Test func `A definite answer clears the account, and the reason is there after the next start`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(
            signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.refuse(.oauthError(.invalidGrant))], clock: clock)
        let state = await store.checkSession(with: authority)
        let signOut = SignOut(
            .sessionEnded, date: clock.now, issuer: "https://auth.example.com", detail: "invalid_grant")
        #expect(state == .signedOut(signOut))
        #expect(store.account == nil)
        #expect(try await storage.stateForNewProcess() == .signedOut(signOut))
        await #expect(throws: AccountError(.notSignedIn, "")) { try await store.accessToken(with: authority) }
        await #expect(throws: AccountError(.notSignedIn, "")) { try await store.update { _ in } }

        try await store.signIn { .fresh(at: clock.now) }
        try await store.signOut()
        #expect(try await storage.stateForNewProcess() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
    }

    @Test func `The shared store is the one that was shared`() async throws {
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now))
        store.share()
        #expect(AccountStore.shared === store)
        #expect(AccountStore.shared?.account?.username == "alice")
    }

    // MARK: Tokens

    @Test(
        arguments: [
            // For how long the token is good, for how long it should be, whether it is refreshed.
            (3600, 60, false), (3600, 3599, false), (3600, 3600, true), (3600, 7200, true), (60, 60, true),
            (61, 60, false),
            (0, 0, true), (1, 0, false), (-1, 0, true), (nil, 1e9, false),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func `A token is refreshed if it is not good for long enough`(
        seconds: TimeInterval?, minimumValidity: TimeInterval, isRefreshed: Bool
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .testing(at: clock.now, expiringIn: seconds), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let token = try await store.accessToken(minimumValidity: minimumValidity, with: authority)
        #expect(token == Secret(isRefreshed ? "access-2" : "access-1"))
        #expect(authority.requests == (isRefreshed ? [.refresh] : []))
    }

    @Test(arguments: Fixture.signals.filter { $0 != .oauthError(.invalidGrant) && $0 != .rejected("closed") })
    func `A failed early refresh gives the token that is still good, a late one says so`(
        signal: AuthoritySignal
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .testing(at: clock.now, expiringIn: 30), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(signal)], clock: clock)
        #expect(try await store.accessToken(minimumValidity: 60, with: authority) == Secret("access-1"))
        clock.advance(by: 30)
        let error = await #expect(throws: AccountError.self) { try await store.accessToken(with: authority) }
        #expect(error?.code == .serviceUnavailable || error?.code == .misconfigured)
        #expect(store.account?.username == "alice")

        // However long the service was to be left alone, it is asked again in the end.
        authority.answer(.refresh, with: [.accept])
        clock.advance(by: 300)
        #expect(try await store.accessToken(with: authority) == Secret("access-2"))
    }

    @Test func `Without a refresh token an expired token is given as it is, for the service to judge`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(
            signedIn: .expired(at: clock.now, hasRefreshToken: false), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(with: authority) == Secret("access-1"))
        await #expect(throws: AccountError(.misconfigured, "")) { try await store.refresh(with: authority) }
        #expect(authority.requests.isEmpty)
    }

    // MARK: Refreshing together

    @Test func `A thousand tasks refresh once`() async throws {
        let clock = ManualClock()
        // Who asks for the lock while another has it fails: only who joins the refresh does not ask for it.
        let store = AccountStore(
            storage: InMemoryArchiveStorage(), appIdentifier: "testing", keySource: InMemoryKey(), clock: clock,
            lockPatience: .zero)
        try await store.signIn { .expired(at: clock.now) }
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<1000 { group.addTask { try await store.accessToken(with: authority) } }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 1000))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Several processes refresh once`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<20 {
                let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
                group.addTask { try await store.accessToken(with: authority) }
            }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 20))
        #expect(authority.requests == [.refresh])
    }

    @Test(arguments: [true, false])
    func `A task that is cancelled stops waiting, and the others get their token`(cancelsFirst: Bool) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let first = Task { try await store.accessToken(with: authority) }
        await authority.waitForRequest(.refresh)
        let second = Task { try await store.accessToken(with: authority) }
        let (cancelled, other) = cancelsFirst ? (first, second) : (second, first)
        cancelled.cancel()
        // It ends although the service has not answered.
        await #expect(throws: AccountError(.serviceUnavailable, "")) { try await cancelled.value }
        authority.release()
        #expect(try await other.value == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `A refresh that nobody waits for any more is stored nevertheless`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let only = Task { try await store.accessToken(with: authority) }
        await authority.waitForRequest(.refresh)
        only.cancel()
        await #expect(throws: AccountError.self) { try await only.value }
        authority.release()
        // Waits for the lock, which the refresh has until its reply is stored.
        try await store.update { $0.profile.points = 1 }
        #expect(try await storage.stateForNewProcess().account?.credentials.accessToken == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `A refresh of other tokens is another refresh`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        _ = try await store.accessToken(with: authority)
        clock.advance(by: 3600)
        _ = try await store.accessToken(with: authority)
        try await store.refresh(with: authority)
        #expect(authority.requests == [.refresh, .refresh, .refresh])
        #expect(store.account?.credentials.accessToken == Secret("access-4"))
    }

    @Test func `A sign-out during a check is not undone by the answer`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(verify: [.hang], clock: clock)
        let check = Task { await store.checkSession(with: authority) }
        await authority.waitForRequest(.verify)
        try await store.signOut()
        authority.release()
        #expect(await check.value.text == "signed out: signedOutByUser")
        #expect(store.account == nil)
        #expect(try await storage.stateForNewProcess().text == "signed out: signedOutByUser")
    }

    @Test(arguments: [AuthoritySignal.bearerChallenge(error: "invalid_token"), .rejected("closed")])
    func `A sign-in during a check is not undone by the answer about the old token`(
        signal: AuthoritySignal
    ) async throws {
        let clock = ManualClock()
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(
            signedIn: .testing(at: clock.now, hasRefreshToken: false), clock: clock, storage: storage)
        let authority = ScriptedAuthority(verify: [.refuse(signal)], clock: clock)
        // The answer has come, and the check waits for the lock.
        storage.inject(.stalls, of: .begin)
        let check = Task { await store.checkSession(with: authority) }
        await storage.waitForStall()
        try await store.signIn { Fixture.bob }
        storage.release()
        #expect(await check.value.text == "unverified bob-access: replacedMeanwhile")
        #expect(store.account == Fixture.bob)
    }

    @Test func `A storage whose lock is lost does not let a refresh undo a sign-out or a sign-in`() async throws {
        let clock = ManualClock()
        let bobs = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: Fixture.bob, clock: clock, storage: bobs)
        for bytes in [nil, bobs.entries[.account]?.bytes] {
            let base = InMemoryArchiveStorage()
            let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: base)
            let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
            let token = Task { try await store.accessToken(with: authority) }
            await authority.waitForRequest(.refresh)
            base.overwrite(.account, with: bytes)
            authority.release()
            if bytes == nil {
                await #expect(throws: AccountError(.notSignedIn, "")) { try await token.value }
                #expect(store.account == nil)
            } else {
                #expect(try await token.value == Secret("bob-access"))
                #expect(store.account == Fixture.bob)
            }
            #expect(base.entries[.account]?.bytes == bytes)
        }
    }

    @Test func `Tokens that could not be saved do not come back after a sign-out`() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let faulty = FaultyArchiveStorage()
        let store = try await AccountStore.testing(
            signedIn: .expired(at: clock.now), clock: clock,
            storage: HookedStorage(base: faulty, onEnd: { await gate.pass() }))
        for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        gate.shut()
        let check = Task { await store.checkSession(with: ScriptedAuthority(clock: clock)) }
        await gate.waitForSomebody()
        try await store.signOut()
        gate.open()
        #expect(await check.value.text == "unverified access-2: notSaved")
        #expect(store.account == nil)
        #expect(await store.load().text == "signed out: signedOutByUser")
    }

    // MARK: Signing in and out

    @Test(
        arguments: [
            (.signInRefused("wrong password"), .signInRefused), (.oauthError(.invalidGrant), .signInRefused),
            (.oauthError(.accessDenied), .signInRefused), (.oauthError(.expiredToken), .signInRefused),
            (.bearerChallenge(error: "invalid_token"), .signInRefused), (.rejected("closed"), .signInRefused),
            (.oauthError(.invalidClient), .misconfigured), (.noReply(.timeout), .serviceUnavailable),
            (.intercepted("a web page"), .serviceUnavailable), (.untrustedTLS("expired"), .serviceUnavailable),
            (.unavailable(status: 503, retryAfter: nil), .serviceUnavailable),
        ] as [(AuthoritySignal, AccountError.Code)])
    func `A sign-in that fails leaves who was signed in before`(
        signal: AuthoritySignal, code: AccountError.Code
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let before = storage.entries[.account]
        let authority = ScriptedAuthority(signIn: [.refuse(signal)], clock: clock)
        await #expect(throws: AccountError(code, "")) {
            try await store.signIn(username: "bob", password: Secret("password"), with: authority)
        }
        await #expect(throws: AccountError(code, "")) { try await store.signIn(token: Secret("t"), with: authority) }
        #expect(storage.entries[.account] == before)
        #expect(store.account?.username == "alice")
    }

    @Test func `Nobody is asked for a password that could not be used`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        let authority = ScriptedAuthority()
        for call in [FaultyArchiveStorage.Call.begin, .reserve] {
            storage.inject(.fails(FaultyArchiveStorage.diskFull), of: call)
            await #expect(throws: FaultyArchiveStorage.diskFull) {
                try await store.signIn(username: "bob", password: Secret("password"), with: authority)
            }
        }
        #expect(authority.requests.isEmpty)
    }

    @Test func `What an app's own sign-in throws reaches the app`() async throws {
        let store = try await AccountStore.testing(signedIn: nil)
        let error = AccountError(.init(rawValue: "myOwn"), "my own")
        await #expect(throws: error) { try await store.signIn { throw error } }
        struct Mistake: Error {}
        await #expect(throws: AccountError(.serviceUnavailable, "")) { try await store.signIn { throw Mistake() } }
    }

    @Test func `A sign-in forgets that a refresh of the last session was never finished`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.noReply(.timeout))], clock: clock)
        _ = await store.checkSession(with: authority)
        #expect(try await store.unfinishedRefresh() == clock.now)
        try await store.signIn { .fresh(at: clock.now) }
        #expect(try await store.unfinishedRefresh() == nil)
    }

    @Test(
        arguments: [
            ([.accept], .done), ([.refuse(.noReply(.unreachable))], .undelivered(.noReply(.unreachable))),
            ([.refuse(.oauthError(.invalidGrant))], .done),
            (
                [.refuse(.unavailable(status: 503, retryAfter: nil))],
                .undelivered(.unavailable(status: 503, retryAfter: nil))
            ),
        ] as [([ScriptedAuthority.Answer], SignOutReport.Revocation)])
    func `A sign-out is one whether the service hears of it or not`(
        answers: [ScriptedAuthority.Answer], revocation: SignOutReport.Revocation
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(revoke: answers, clock: clock)
        let report = try await store.signOut(with: authority)
        #expect(report.revocation == revocation)
        #expect(report.account?.username == "alice")
        #expect(store.account == nil)
        #expect(storage.entries[.account] == nil)
        #expect(try await store.signOut(with: authority).account == nil)
        #expect(authority.requests == [.revoke], "a second sign-out has nobody to sign out")
    }

    @Test func `The account is gone here before the service is told`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let authority = ScriptedAuthority(revoke: [.hang])
        let signOut = Task { try await store.signOut(with: authority) }
        await authority.waitForRequest(.revoke)
        #expect(store.account == nil)
        #expect(storage.entries[.account] == nil)
        signOut.cancel()
        #expect(try await signOut.value.revocation == .undelivered(.noReply(.cancelled)))
    }

    @Test func `Two sessions and two apps do not open each other's archives`() async throws {
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        for (app, session) in [("other", SessionName.default), ("testing", try SessionName("work"))] {
            let store = AccountStore(storage: storage, appIdentifier: app, session: session, keySource: InMemoryKey())
            #expect(await store.load().text == "unreadable: wrongKeyOrDamaged")
        }
    }

    // MARK: An archive that cannot be read

    @Test func `Unreadable is neither signed out nor changed by anything but a sign-in`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let good = try #require(storage.entries[.account])
        var flipped = good.bytes
        flipped[flipped.count / 2] ^= 1
        var later = good.bytes
        later[try #require(later.firstRange(of: Array("ACCT\r\n\u{1A}\n".utf8))).upperBound] = 2
        for (bytes, code) in [
            (Array(good.bytes.dropLast()), AccountError.Code.damaged), ([], .damaged), (flipped, .wrongKeyOrDamaged),
            (later, .unsupportedVersion), (Array("{\"access_token\": 1}".utf8), .damaged),
            ([UInt8](repeating: 0, count: 1024 * 1024 + 1), .damaged),
        ] {
            storage.overwrite(.account, with: bytes)
            let before = storage.entries
            let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
            let authority = ScriptedAuthority(clock: clock)
            #expect(await store.load() == .unreadable(AccountError(code, "")))
            #expect(await store.checkSession(with: authority) == .unreadable(AccountError(code, "")))
            await #expect(throws: AccountError(code, "")) { try await store.accessToken(with: authority) }
            await #expect(throws: AccountError(code, "")) { try await store.refresh(with: authority) }
            await #expect(throws: AccountError(code, "")) { try await store.update { _ in } }
            await #expect(throws: AccountError(code, "")) { try await store.signOut(with: authority) }
            #expect(storage.entries == before)
            #expect(authority.requests.isEmpty)

            try await store.signIn { .fresh(at: clock.now) }
            #expect(await store.load().text == "unverified access-1: notChecked")
            let aside = storage.entries.filter { $0.key.rawValue.hasPrefix("Account.plist.unreadable-") }
            #expect(aside.values.map(\.bytes) == [bytes])
            for entry in aside.keys { storage.overwrite(entry, with: nil) }
        }
    }

    @Test func `An account in memory outlives an archive that cannot be read for a while`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let good = storage.entries[.account]?.bytes
        storage.overwrite(.account, with: [1, 2, 3])
        #expect(await store.load().text == "unreadable: damaged")
        #expect(store.account?.username == "alice")
        storage.overwrite(.account, with: good)
        #expect(await store.load().text == "unverified access-1: notChecked")
    }

    @Test func `An archive without its key is not signed out, and opens again with it`() async throws {
        struct MissingKey: KeySource {
            var kind: KeyKind { .keyFile }
            func key() async throws -> ArchiveKey? { nil }
            func makeKey() async throws -> ArchiveKey { throw AccountError(.inaccessible, "no new keys here") }
        }
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        for (source, code) in [
            (MissingKey() as any KeySource, AccountError.Code.noKey), (InMemoryKey(byte: 8), .wrongKeyOrDamaged),
        ] {
            let store = AccountStore(storage: storage, appIdentifier: "testing", keySource: source)
            #expect(await store.load() == .unreadable(AccountError(code, "")))
        }
        #expect(try await storage.stateForNewProcess().text == "unverified access-1: notChecked")
    }

    @Test func `A record of the last sign-out that cannot be read is in nobody's way`() async throws {
        let storage = HookedStorage(onRead: { entry in
            if entry == .signOut { throw AccountError(.damaged, "too large") }
        })
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        #expect(await store.load() == .signedOut(.neverSignedIn))
        try await store.signIn { .fresh(at: ManualClock().now) }
        try await store.signOut()
        #expect(await store.load() == .signedOut(.neverSignedIn))
    }

    // MARK: Changes

    @Test func `Changes from several stores at once are all there`() async throws {
        let storage = InMemoryArchiveStorage()
        let first = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let second = try await AccountStore.testing(signedIn: nil, storage: storage)
        let before = try #require(try storage.storedGeneration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in [first, second] {
                for _ in 0..<50 {
                    group.addTask { try await store.update { $0.profile.points = ($0.profile.points ?? 0) + 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await storage.stateForNewProcess().account?.profile.points == 100)
        let after = try #require(try storage.storedGeneration)
        #expect(after == (before.lineage, before.generation + 100))
    }

    @Test func `A profile that the service took is stored, with what it made of it`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        authority.answer(
            .updateProfile,
            with: [.identity(Identity(id: Fixture.alice.id, username: "ally", profile: ["nickname": "ally"]))])
        let account = try await store.updateProfile(with: authority) {
            $0.nickname = "Ally"
            $0.name = nil
            $0.points = 3
        }
        #expect(account.username == "ally")
        #expect(account.profile == ["nickname": "ally", "points": 3, "email": "alice@example.com"])
        #expect(try await storage.stateForNewProcess().account == account)
    }

    @Test func `A profile that the service did not take changes nothing`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let before = storage.entries
        let authority = ScriptedAuthority()
        authority.answer(.updateProfile, with: [.refuse(.noReply(.timeout))])
        await #expect(throws: AccountError(.serviceUnavailable, "")) {
            try await store.updateProfile(with: authority) { $0.nickname = "Ally" }
        }
        #expect(storage.entries == before)
        #expect(store.account?.profile.nickname == nil)
    }

    @Test func `A change of the profile does not undo another process's change of another field`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let other = try await AccountStore.testing(signedIn: nil, storage: storage)
        let authority = ScriptedAuthority()
        authority.answer(.updateProfile, with: [.hang])
        let change = Task { try await store.updateProfile(with: authority) { $0.nickname = "Ally" } }
        await authority.waitForRequest(.updateProfile)
        try await other.update {
            $0.profile.points = 5
            $0.profile.email = nil
        }
        authority.release()
        let profile = try await change.value.profile
        #expect(profile == ["nickname": "Ally", "points": 5, "name": "Alice Liddell"])
    }

    @Test func `A change of the profile is not stored in another user's account`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        authority.answer(.updateProfile, with: [.hang])
        let change = Task { try await store.updateProfile(with: authority) { $0.nickname = "Ally" } }
        await authority.waitForRequest(.updateProfile)
        try await store.signIn { Fixture.bob }
        authority.release()
        await #expect(throws: AccountError(.conflict, "")) { try await change.value }
        #expect(try await storage.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `An account that is too large is refused, and the old one stays`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now), storage: storage)
        await #expect(throws: AccountError(.tooLarge, "")) {
            try await store.update { $0.profile["picture"] = .data(Data(count: 1024 * 1024)) }
        }
        #expect(try await storage.stateForNewProcess().account == store.account)
        try await store.update { $0.profile["picture"] = .data(Data(count: 1000 * 1024)) }
        #expect(try await storage.stateForNewProcess().account == store.account)
    }
}
