import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SimultaneousRefreshTests {
    @Test func `Sends one refresh for a thousand tasks`() async throws {
        let clock = ManualClock()
        // With this timeout, acquiring a held lock fails: only tasks that join the refresh succeed.
        let store = AccountStore(
            storage: InMemoryArchiveStorage(), appIdentifier: "testing", keySources: [InMemoryKey()], clock: clock,
            lockTimeout: .zero)
        try await store.signIn { .expired(at: clock.now) }
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<1000 { group.addTask { try await store.accessToken(timeout: nil, with: authority) } }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 1000))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Sends one refresh for several processes`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<20 {
                let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
                group.addTask { try await store.accessToken(timeout: nil, with: authority) }
            }
            await authority.waitForRequest(.refresh)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 20))
        #expect(authority.requests == [.refresh])
    }

    @Test(arguments: [true, false])
    func `Returns the token to the other tasks when one task is cancelled`(cancelsFirst: Bool) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let first = Task { try await store.accessToken(timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        let second = Task { try await store.accessToken(timeout: nil, with: authority) }
        let (cancelled, other) = cancelsFirst ? (first, second) : (second, first)
        cancelled.cancel()
        // The cancelled task ends before the service responds.
        await expectAccountError(.cancelled) { try await cancelled.value }
        authority.release()
        #expect(try await other.value == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Saves a refresh whose only caller was cancelled`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let only = Task { try await store.accessToken(timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        only.cancel()
        await #expect(throws: AccountError.self) { try await only.value }
        authority.release()
        await store.finishPendingRequests()
        #expect(try await storage.stateForNewProcess().account?.credentials.accessToken == Secret("access-2"))
        #expect(authority.requests == [.refresh])
    }

    @Test func `Verifies the account again if the tokens were replaced during a check`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let other = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        let authority = ScriptedAuthority(verify: [.hang, .accept], clock: clock)
        let check = Task { await store.checkSession(with: authority, timeout: nil) }
        await authority.waitForRequest(.verify)
        try await other.refresh(with: authority)
        authority.release()
        #expect(await check.value.text == "verified access-2")
        #expect(authority.requests == [.verify, .refresh, .verify])
    }

    @Test func `Sends a new request for a refresh of other tokens`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        _ = try await store.accessToken(timeout: nil, with: authority)
        clock.advance(by: .seconds(3600))
        _ = try await store.accessToken(timeout: nil, with: authority)
        try await store.refresh(with: authority)
        #expect(authority.requests == [.refresh, .refresh, .refresh])
        #expect(store.account?.credentials.accessToken == Secret("access-4"))
    }

    @Test func `Stays signed out after a sign-out during a check`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.testing(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(verify: [.hang], clock: clock)
        let check = Task { await store.checkSession(with: authority, timeout: nil) }
        await authority.waitForRequest(.verify)
        try await store.signOut()
        authority.release()
        #expect(await check.value.text == "signed out: signedOutByUser")
        #expect(store.account == nil)
        #expect(try await storage.stateForNewProcess().text == "signed out: signedOutByUser")
    }

    @Test(arguments: [AuthorityError.bearerChallenge(error: "invalid_token"), .rejected("closed")])
    func `Keeps a sign-in that happened during a check`(
        failure: AuthorityError
    ) async throws {
        let clock = ManualClock()
        let storage = FaultyArchiveStorage()
        let store = try await AccountStore.testing(
            signedIn: .testing(at: clock.now, hasRefreshToken: false), clock: clock, storage: storage)
        let authority = ScriptedAuthority(verify: [.refuse(failure), .accept], clock: clock)
        // The response has arrived, and the check waits for the lock.
        storage.inject(.stalls, of: .begin)
        let check = Task { await store.checkSession(with: authority, timeout: nil) }
        await storage.waitForStall()
        try await store.signIn { Fixture.bob }
        storage.release()
        #expect(await check.value.text == "verified bob-access")
        #expect(authority.requests == [.verify, .verify])
        #expect(store.account?.id == Fixture.bob.id)
    }

    @Test func `Keeps a sign-out or sign-in during a refresh that lost its lock`() async throws {
        let clock = ManualClock()
        let bobs = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: Fixture.bob, clock: clock, storage: bobs)
        for bytes in [nil, bobs.entries[.account]?.bytes] {
            let base = InMemoryArchiveStorage()
            let store = try await AccountStore.testing(signedIn: .expired(at: clock.now), clock: clock, storage: base)
            let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
            let token = Task { try await store.accessToken(timeout: nil, with: authority) }
            await authority.waitForRequest(.refresh)
            base.overwrite(.account, with: bytes)
            authority.release()
            if bytes == nil {
                await expectAccountError(.notSignedIn) { try await token.value }
                #expect(store.account == nil)
            } else {
                await expectAccountError(.conflict) { try await token.value }
                #expect(store.account == Fixture.bob)
            }
            #expect(base.entries[.account]?.bytes == bytes)
        }
    }

    @Test func `Discards unsaved tokens after a sign-out`() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let faulty = FaultyArchiveStorage()
        let store = try await AccountStore.testing(
            signedIn: .expired(at: clock.now), clock: clock,
            storage: HookedStorage(base: faulty, onEnd: { await gate.pass() }))
        for number in 2...3 { faulty.inject(.fails(FaultyArchiveStorage.diskFull), at: number, of: .replace) }
        // The refresh has released the lock for the last time.
        let authority = SteppedAuthority(tokens: {
            gate.shut()
            return Fixture.newTokens
        })
        let check = Task { await store.checkSession(with: authority, timeout: nil) }
        await gate.waitForSomebody()
        try await store.signOut()
        gate.open()
        #expect(await check.value.text == "unverified access-2: notSaved")
        #expect(store.account == nil)
        #expect(await store.load().text == "signed out: signedOutByUser")
    }
}
