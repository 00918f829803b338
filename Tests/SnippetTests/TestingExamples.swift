import AccountKit
import AccountTesting
import Logging
import Foundation
import Testing

struct TestingExamples {
    @Test func refreshesAnExpiredToken() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let service = ScriptedAuthority(clock: clock)
        clock.advance(by: .seconds(3601))
        #expect(try await store.accessToken(with: service) == Secret("access-2"))
        #expect(service.requests == [.refresh])
    }

    // snippet.check
    @Test func staysSignedInWithoutNetwork() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.unreachable))], clock: clock)
        guard case .unverified(let account, let why) = await store.checkSession(with: service) else {
            Issue.record("not offline")
            return
        }
        #expect(account.username == "alice")
        #expect(why.code == .offline)
    }

    @Test func refreshesAnExpiredTokenAtStartUp() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(clock: clock)
        guard case .verified(let account) = await store.checkSession(with: service) else {
            Issue.record("not verified")
            return
        }
        #expect(account.credentials.accessToken == Secret("access-2"))
        #expect(service.requests == [.refresh])  // the new token is the confirmation: `verify` is not called
    }

    @Test func signsOutWhenTheServiceEndsTheSession() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.oauthError("invalid_grant"))], clock: clock)
        guard case .signedOut(let why) = await store.checkSession(with: service) else {
            Issue.record("still signed in")
            return
        }
        #expect(why.reason == .sessionEnded)
    }
    // snippet.end

    // snippet.verify
    @Test func staysSignedInWithAValidToken() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority(verify: [.refuse(.noResponse(.unreachable))])
        #expect(await store.checkSession(with: service).account?.username == "alice")
        #expect(service.requests == [.verify])
    }
    // snippet.end

    // snippet.portal
    @Test func staysSignedInBehindACaptivePortal() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority(verify: [.refuse(.intercepted("a web page of the hotel"))])
        guard case .unverified(let account, let why) = await store.checkSession(with: service) else {
            Issue.record("not kept")
            return
        }
        #expect(account.username == "alice")
        #expect(why.code == .captivePortal)
    }
    // snippet.end

    // snippet.none
    @Test func asksForASignInBeforeTheFirstOne() async throws {
        let store = try await AccountStore.inMemory(signedIn: nil)
        let service = ScriptedAuthority()
        #expect(await store.checkSession(with: service).account == nil)
        await expectAccountError(.notSignedIn) { try await store.accessToken(with: service) }
        #expect(service.requests.isEmpty)  // there is nothing to ask the service
        try await store.signIn(token: Secret("typed"), with: service)
        #expect(store.account?.username == "alice")
    }
    // snippet.end

    // snippet.pause
    @Test func triesAgainAfterAPause() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.unreachable)), .accept], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(with: service) }
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(with: service) }
        #expect(service.requests == [.refresh])  // the second call was in the pause, and sent nothing
        clock.advance(by: .seconds(5))
        #expect(try await store.accessToken(with: service) == Secret("access-2"))
    }
    // snippet.end

    @Test func endsTheSessionWhenAnOwnAuthorityRejectsIt() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority(verify: [.refuse(.rejected("revoked"))])
        #expect(await store.checkSession(with: service).account == nil)
    }

    // snippet.slow
    @Test func continuesWhenTheServiceIsSlow() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let service = ScriptedAuthority(verify: [.hang])
        let state = await store.checkSession(with: service, timeout: .milliseconds(50))
        #expect(state.account?.username == "alice")
        service.release()
    }
    // snippet.end

    // snippet.leak
    @Test func logsNoToken() async throws {
        let account = Account.fresh(at: ManualClock().now)
        await expectNoLeak(of: [account.credentials.accessToken]) { logger in
            logger.info("signed in", metadata: ["account": "\(account)"])
        }
    }
    // snippet.end

    // snippet.shared
    @Test func greetsTheSharedAccount() async throws {
        func greeting() -> String { "Hello, \(AccountStore.shared?.account?.username ?? "stranger")" }
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        await AccountStore.withShared(store) {
            #expect(greeting() == "Hello, alice")
        }
    }
    // snippet.end
}
