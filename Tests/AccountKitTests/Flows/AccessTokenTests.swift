import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct AccessTokenTests {
    @Test(
        arguments: [
            // Seconds until the token expires, the required validity, and whether the token is refreshed.
            (3600, 60, false), (3600, 3599, false), (3600, 3600, true), (3600, 7200, true), (60, 60, true),
            (61, 60, false),
            (0, 0, true), (1, 0, false), (-1, 0, true), (nil, 1e9, false),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func `Refreshes a token that is not valid for long enough`(
        seconds: TimeInterval?, minimumValidity: TimeInterval, isRefreshed: Bool
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: seconds.map { .seconds($0) }), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let token = try await store.accessToken(
            minimumValidity: .seconds(minimumValidity), timeout: nil, with: authority)
        #expect(token == Secret(isRefreshed ? "access-2" : "access-1"))
        #expect(authority.requests == (isRefreshed ? [.refresh] : []))
    }

    @Test(arguments: [(3600, 3539, false), (3600, 3541, true), (60, 29, false), (60, 31, true), (1, 0, false)])
    func `Requires validity for a minute or half the token's lifetime by default`(
        lifetime: TimeInterval, age: TimeInterval, isRefreshed: Bool
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: .seconds(lifetime)), clock: clock)
        clock.advance(by: .seconds(age))
        let authority = ScriptedAuthority(clock: clock)
        #expect(
            try await store.accessToken(timeout: nil, with: authority) == Secret(isRefreshed ? "access-2" : "access-1"))
    }

    @Test(
        arguments: [
            // Seconds until the token expires, how far the clock is set back, and whether the token is refreshed.
            (3600, 0, false), (3600, 300, false), (3600, 301, true), (3600, 1e8, true), (nil, 1e8, false),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func `Refreshes a token only once after the clock was set back`(
        seconds: TimeInterval?, step: TimeInterval, isRefreshed: Bool
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: seconds.map { .seconds($0) }), clock: clock)
        // The new tokens have the dates of the clock before it was set back.
        let authority = ScriptedAuthority(clock: ManualClock(clock.now))
        clock.advance(by: .seconds(-step))
        for _ in 1...3 {
            let token = try await store.accessToken(timeout: nil, with: authority)
            #expect(token == Secret(isRefreshed ? "access-2" : "access-1"))
        }
        #expect(authority.requests == (isRefreshed ? [.refresh] : []))
    }

    @Test(
        arguments: [
            // The seconds by which each step moves the clock.
            [0, 0], [3600, -3600, 3600, -3600], [-3600, 3600, 0, 3600], [3.2e7, 0, -3.2e7, 3600],
            [-3.2e7, 0, 3.2e7, 0],
        ] as [[TimeInterval]])
    func `Refreshes at most once after each of several clock jumps`(steps: [TimeInterval]) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        for step in steps {
            clock.advance(by: .seconds(step))
            let limit = authority.requests.count + (step == 0 ? 0 : 1)
            for _ in 1...3 { _ = try await store.accessToken(timeout: nil, with: authority) }
            #expect(authority.requests.count <= limit)
        }
    }

    @Test func `Returns the old token if the refresh fails after a clock change`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.noResponse(.unreachable))], clock: clock)
        clock.advance(by: .seconds(-7200))
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-1"))
        #expect(authority.requests == [.refresh])

        let bare = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now.addingTimeInterval(7200), hasRefreshToken: false), clock: clock)
        #expect(try await bare.accessToken(timeout: nil, with: authority) == Secret("access-1"))
        #expect(authority.requests == [.refresh])
    }

    /// Failures that neither end the session nor name another user.
    static let failures = Fixture.authorityErrors.filter {
        ![.oauthError("invalid_grant"), .rejected("closed"), .otherUser(id: "2")].contains($0)
    }

    @Test(arguments: failures)
    func `Returns a valid token after a failed refresh, or throws an error`(
        failure: AuthorityError
    ) async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: .seconds(30)), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(failure)], clock: clock)
        #expect(
            try await store.accessToken(minimumValidity: .seconds(60), timeout: nil, with: authority)
                == Secret("access-1"))
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: AccountError.self) {
            try await store.accessToken(timeout: nil, with: authority)
        }
        #expect([.serviceUnavailable, .misconfigured, .cancelled, .renewalRefused].contains(error?.code))
        #expect(store.account?.username == "alice")

        // The store retries after the longest delay.
        authority.respond(to: .refresh, with: [.accept])
        clock.advance(by: .seconds(300))
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-2"))
    }

    @Test func `Keeps an account without a refresh token, but returns no expired token`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(
            signedIn: .expired(at: clock.now, hasRefreshToken: false), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        let error = await expectAccountError(.notSignedIn) {
            try await store.accessToken(timeout: nil, with: authority)
        }
        #expect(error?.description.contains("sign in again") == true)
        await expectAccountError(.misconfigured) { try await store.refresh(with: authority) }
        #expect(authority.requests.isEmpty)
        #expect(try await storage.stateForNewProcess().account?.username == "alice")
        // The local clock may be wrong, so the service determines whether the token has expired.
        #expect(await store.checkSession(with: authority, timeout: nil).text == "verified access-1")
        clock.advance(by: .seconds(-7200))
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-1"))
    }

    // MARK: Replacing a refused token

    private func store(issued age: TimeInterval, hasRefreshToken: Bool = true) async throws -> AccountStore {
        let clock = ManualClock()
        let account = Account.testing(
            at: clock.now.addingTimeInterval(-age), expiringIn: .seconds(86_400), hasRefreshToken: hasRefreshToken)
        return try await AccountStore.inMemory(signedIn: account, clock: clock)
    }

    /// The token that replaces a refused one.
    private func token(
        of store: AccountStore, insteadOf refused: Account?, _ authority: ScriptedAuthority
    ) async throws -> Secret? {
        try await store.account(insteadOf: try #require(refused), with: authority)?.credentials.accessToken
    }

    @Test func `Refreshes a refused token unless the token was already replaced`() async throws {
        let store = try await store(issued: 3600)
        let authority = ScriptedAuthority()
        let refused = store.account
        for _ in 1...2 { #expect(try await token(of: store, insteadOf: refused, authority) == Secret("access-2")) }
        #expect(authority.requests == [.refresh])
    }

    @Test func `Takes the same token for a new one if the service issued it again`() async throws {
        let store = try await store(issued: 3600)
        let refused = try #require(store.account)
        try await store.update { account throws(AccountError) in
            account.credentials.issuedAt = refused.credentials.issuedAt.addingTimeInterval(3599)
        }
        let authority = ScriptedAuthority()
        #expect(try await token(of: store, insteadOf: refused, authority) == refused.credentials.accessToken)
        #expect(authority.requests.isEmpty)
    }

    @Test(arguments: [0, 1, 59.9, 60, 86_400, -1, -1e9])
    func `Replaces a refused token whenever the token was issued`(age: TimeInterval) async throws {
        let store = try await store(issued: age)
        #expect(try await token(of: store, insteadOf: store.account, ScriptedAuthority()) == Secret("access-2"))
    }

    @Test func `Replaces a token that was refused as a replacement after a minute`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: .seconds(86_400)), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        let refused = try #require(store.account)
        let replacement = try #require(try await store.account(insteadOf: refused, with: authority))
        store.noteRefusedReplacement(replacement)
        for seconds in [0, 1, 58] {
            clock.advance(by: .seconds(seconds))
            #expect(try await token(of: store, insteadOf: replacement, authority) == nil)
        }
        #expect(authority.requests == [.refresh])
        clock.advance(by: .seconds(1))
        let next = try await store.account(insteadOf: replacement, with: authority)
        #expect(next?.credentials.accessToken == Secret("access-3"))
        // Only the last replacement was refused.
        #expect(try await token(of: store, insteadOf: next, authority) == Secret("access-4"))
    }

    @Test func `Does not replace a refused token without a refresh token`() async throws {
        let store = try await store(issued: 3600, hasRefreshToken: false)
        #expect(try await token(of: store, insteadOf: store.account, ScriptedAuthority()) == nil)
    }

    @Test func `Does not return a refused token if the refresh fails`() async throws {
        let store = try await store(issued: 3600)
        let authority = ScriptedAuthority(refresh: [.refuse(.noResponse(.refused))])
        for _ in 1...2 {
            await expectAccountError(.serviceUnavailable) {
                try await token(of: store, insteadOf: store.account, authority)
            }
        }
        #expect(authority.requests == [.refresh], "no request during the pause")
        #expect(
            try await store.accessToken(timeout: nil, with: authority) == Secret("access-1"),
            "another API may still accept it")
    }

    private static let pauses: [(failure: AuthorityError, code: AccountError.Code, reason: String, wait: String)] = [
        (.noResponse(.refused), .serviceUnavailable, "offline: the connection to the service was refused", "s"),
        (.noResponse(.unknownHost), .serviceUnavailable, "offline: the host name is not known", "s"),
        (.unavailable(status: 503, retryAfter: .seconds(20)), .serviceUnavailable, "server error: 503", "21 s"),
        (.unavailable(status: 429, retryAfter: .seconds(9)), .serviceUnavailable, "too many requests: 429", "10 s"),
        (.intercepted("a web page"), .serviceUnavailable, "another server responded: a web page", "s"),
        (.untrustedTLS("expired"), .serviceUnavailable, "the connection is not secure: expired", "s"),
        (.proxyAuthenticationRequired, .serviceUnavailable, "a proxy requires a user name and password: 407", "s"),
        (.oauthError("invalid_client"), .misconfigured, "not set up at the service: invalid_client", "s"),
        (.unclear("no JSON"), .serviceUnavailable, "unexpected response: no JSON", "s"),
        (.oauthError("server_error"), .serviceUnavailable, "server error: server_error", "s"),
    ]

    @Test(arguments: pauses)
    func `Repeats the reason of a failed refresh during the pause after it`(
        row: (failure: AuthorityError, code: AccountError.Code, reason: String, wait: String)
    ) async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.refuse(row.failure)], clock: clock)
        let first = await expectAccountError(row.code) { try await store.accessToken(timeout: nil, with: authority) }
        #expect(first?.message.contains(row.reason) == true, "\(String(describing: first))")
        for store in [store, other] {
            let error = await expectAccountError(row.code) {
                try await store.accessToken(timeout: nil, with: authority)
            }
            #expect(error?.message == first?.message)
            #expect(error?.hint?.hasPrefix("try again in ") == true && error?.hint?.hasSuffix(row.wait) == true)
        }
        #expect(authority.requests == [.refresh])
    }

    @Test func `Returns no token of another user who signs in during the request`() async throws {
        let store = try await AccountStore.inMemory(
            signedIn: .expired(at: Fixture.now), clock: ManualClock(Fixture.now))
        let authority = ScriptedAuthority(refresh: [.hang], clock: ManualClock(Fixture.now))
        let token = Task { try await store.accessToken(timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        try await store.signIn { Fixture.bob }
        authority.release()
        await expectAccountError(.conflict) { try await token.value }
        // A new request belongs to the other user.
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("bob-access"))
    }

    @Test func `Does not retry a refused request with another user's token`() async throws {
        let store = try await store(issued: 3600)
        let alice = store.account
        try await store.signIn { Fixture.bob }
        await expectAccountError(.conflict) {
            try await token(of: store, insteadOf: alice, ScriptedAuthority())
        }
        #expect(store.account == Fixture.bob)
    }
}
