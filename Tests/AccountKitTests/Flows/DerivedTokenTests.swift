import AccountTesting
import Synchronization
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// Tokens for other APIs in a store: keeping, sharing and errors. ``DerivationFlowTests`` has the steps of a derivation.
struct DerivedTokenTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()
    private let target: TokenTarget
    private let audience: TokenTarget

    init() throws {
        target = try TokenTarget(resources: ["https://api.example.com/"])
        audience = try TokenTarget(audience: "api")
    }

    private func store(_ account: Account? = nil) async throws -> AccountStore {
        try await .inMemory(signedIn: account ?? .fresh(at: clock.now), clock: clock, storage: storage)
    }

    private func tokens(_ token: String, refreshToken: String? = nil) -> ScriptedAuthority.Response {
        .tokens(
            Credentials(
                accessToken: Secret(token), refreshToken: refreshToken.map { Secret($0) }, issuedAt: clock.now,
                expiresAt: clock.now.addingTimeInterval(3600)))
    }

    private func stored() async throws -> Account {
        try #require(try await storage.stateForNewProcess().account)
    }

    // MARK: Replacing

    @Test func `Derives another token once if the API refuses the stored one`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(clock: clock)
        let refused = try await store.accessToken(for: target, timeout: nil, with: authority)
        for _ in 1...2 {
            let next = try await store.accessToken(for: target, insteadOf: refused, timeout: nil, with: authority)
            #expect(next == Secret("derived-2"))
        }
        #expect(authority.requests == [.derive, .derive])
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-2"))
        #expect(store.account != nil)
    }

    @Test func `Never returns a refused token for another API`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(
            derive: [.accept, .refuse(.noResponse(.unreachable))], clock: clock)
        let refused = try await store.accessToken(for: target, timeout: nil, with: authority)
        for _ in 1...2 {
            let error = await expectAccountError(.serviceUnavailable) {
                try await store.accessToken(for: target, insteadOf: refused, timeout: nil, with: authority)
            }
            #expect(error?.message.contains("offline") == true)
        }
        #expect(authority.requests == [.derive, .derive], "no request during the pause")
        // Another program may still use it.
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == refused)
    }

    // MARK: Keeping

    @Test func `Keeps a derived token for its target until the token expires`()
        async throws
    {
        let store = try await store()
        let authority = ScriptedAuthority(clock: clock)
        for _ in 1...2 {
            #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-1"))
            #expect(try await store.accessToken(for: audience, timeout: nil, with: authority) == Secret("derived-2"))
        }
        #expect(authority.requests == [.derive, .derive])
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-1"))
        let stored = try await stored()
        #expect(stored.credentials.hasSameTokens(as: Account.fresh(at: clock.now).credentials))
        #expect(stored.credentials.derivedTokens.map(\.target) == [target, audience])

        #expect(
            try await store.accessToken(for: target, minimumValidity: .seconds(3600), timeout: nil, with: authority)
                == Secret("derived-3"))
        clock.advance(by: .seconds(3541))
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-4"))
        #expect(authority.requests == [.derive, .derive, .derive, .derive])
    }

    @Test func `Ignores the order of a target's resources and scopes`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(clock: clock)
        for scopes in [["b", "a"], ["a", "b", "a"]] {
            let target = try TokenTarget(resources: ["urn:b", "urn:a"], scopes: scopes)
            #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-1"))
        }
        #expect(authority.requests == [.derive])
    }

    @Test func `Keeps derived tokens in a refresh, and drops them at a new sign-in`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(clock: clock)
        _ = try await store.accessToken(for: target, timeout: nil, with: authority)
        try await store.refresh(with: authority)
        #expect(try await stored().credentials.accessToken == Secret("access-2"))
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-1"))
        try await store.signIn { .fresh(at: clock.now) }
        #expect(try await stored().credentials.derivedTokens.isEmpty)
    }

    @Test func `Keeps the newest sixteen derived tokens that have not expired`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(clock: clock)
        for number in 0..<20 {
            let target = try TokenTarget(audience: "api \(number)")
            _ = try await store.accessToken(for: target, timeout: nil, with: authority)
        }
        let kept = try await stored().credentials.derivedTokens
        #expect(kept.map(\.target.audience) == (4..<20).map { "api \($0)" })
        clock.advance(by: .seconds(3600))
        _ = try await store.accessToken(for: audience, timeout: nil, with: authority)
        #expect(try await stored().credentials.derivedTokens.map(\.target) == [audience])
    }

    @Test func `Drops an oversized derived token, but keeps the new refresh token`() async throws {
        let store = try await store()
        let long = String(repeating: "x", count: 16 * 1024 + 1)
        let authority = ScriptedAuthority(derive: [tokens(long, refreshToken: "refresh-2")], clock: clock)
        await expectAccountError(.tooLarge) { try await store.accessToken(for: target, timeout: nil, with: authority) }
        let credentials = try await stored().credentials
        #expect(credentials.refreshToken == Secret("refresh-2"))
        #expect(credentials.derivedTokens.isEmpty)
    }

    // MARK: Sharing

    @Test func `Shares one derivation among tasks and processes`() async throws {
        _ = try await store()
        let authority = ScriptedAuthority(derive: [.hang, .accept], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<10 {
                let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
                for _ in 0..<10 {
                    group.addTask { try await store.accessToken(for: target, timeout: nil, with: authority) }
                }
            }
            await authority.waitForRequest(.derive)
            authority.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("derived-1"), count: 100))
        #expect(authority.requests == [.derive])
    }

    @Test func `Refreshes an expired token before a token exchange`() async throws {
        let store = try await store(.expired(at: clock.now))
        let authority = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(for: audience, timeout: nil, with: authority) == Secret("derived-1"))
        #expect(authority.requests == [.refresh, .derive])
        #expect(try await stored().credentials.accessToken == Secret("access-2"))
    }

    // MARK: Failing

    @Test(
        arguments: [
            (.oauthError("invalid_target", description: "unknown"), .misconfigured),
            (.oauthError("invalid_scope"), .misconfigured), (.oauthError("unauthorized_client"), .misconfigured),
            (.oauthError("invalid_request"), .misconfigured), (.noResponse(.refused), .serviceUnavailable),
            (.unavailable(status: 503, retryAfter: nil), .serviceUnavailable),
            (.unclear("no JSON"), .serviceUnavailable), (.intercepted("a web page"), .serviceUnavailable),
        ] as [(AuthorityError, AccountError.Code)])
    func `Keeps the session after a refused derivation`(
        failure: AuthorityError, code: AccountError.Code
    ) async throws {
        for target in [target, audience] {
            let store = try await store()
            let authority = ScriptedAuthority(derive: [.refuse(failure)], clock: clock)
            await expectAccountError(code) { try await store.accessToken(for: target, timeout: nil, with: authority) }
            #expect(try await stored() == Account.fresh(at: clock.now))
            // The account's own tokens can still be refreshed, unless the service has trouble.
            if code == .misconfigured {
                let token = try await store.accessToken(minimumValidity: .seconds(7200), timeout: nil, with: authority)
                #expect(token == Secret("access-2"))
                #expect(try await store.unfinishedRefresh() == nil)
            }
        }
    }

    @Test func `Returns the stored derived token while the service is unreachable`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(derive: [.accept, .refuse(.noResponse(.unreachable))], clock: clock)
        _ = try await store.accessToken(for: target, timeout: nil, with: authority)
        clock.advance(by: .seconds(3570))
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-1"))
        // The service is not asked again yet.
        #expect(try await store.accessToken(for: target, timeout: nil, with: authority) == Secret("derived-1"))
        #expect(authority.requests == [.derive, .derive])
        clock.advance(by: .seconds(30))
        await expectAccountError(.serviceUnavailable) {
            try await store.accessToken(for: target, timeout: nil, with: authority)
        }
        #expect(authority.requests == [.derive, .derive, .derive])
    }

    @Test func `Derives no token without a refresh token or for another user`() async throws {
        let bare = try await store(.testing(at: clock.now, hasRefreshToken: false))
        let stubborn = RefreshingAuthority()
        await expectAccountError(.misconfigured) {
            try await bare.accessToken(for: target, timeout: nil, with: stubborn)
        }

        let store = try await store()
        let authority = ScriptedAuthority(derive: [.hang], clock: clock)
        let token = Task { try await store.accessToken(for: target, timeout: nil, with: authority) }
        await authority.waitForRequest(.derive)
        try await store.signIn { Fixture.bob }
        authority.release()
        await expectAccountError(.conflict) { try await token.value }
        #expect(try await stored().credentials.derivedTokens.isEmpty)
    }

    @Test func `Exchanges no token of another user who signs in before the exchange`() async throws {
        let store = try await store(.expired(at: clock.now))
        let authority = ScriptedAuthority(refresh: [.hang], clock: clock)
        let target = try TokenTarget(audience: "https://api.example.com")
        let token = Task { try await store.accessToken(for: target, timeout: nil, with: authority) }
        await authority.waitForRequest(.refresh)
        try await store.signIn { Fixture.bob }
        authority.release()
        await expectAccountError(.conflict) { try await token.value }
        #expect(authority.requests.allSatisfy { $0 != .derive })
    }

    /// An authority that supports refreshes only.
    private struct RefreshingAuthority: ServiceAuthority {
        var issuer: String? { nil }

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
        func isAuthority(of account: Account) -> Bool { true }

        func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation { .refresh }

        func exchangeToken(
            for target: TokenTarget, of account: Account, by derivation: TokenDerivation
        ) async throws -> Credentials {
            throw AuthorityError.rejected("never asked")
        }
    }

    /// A service that offers token exchange, but not to this client.
    private final class RefusingExchangeAuthority: ServiceAuthority {
        var issuer: String? { nil }
        let derivations = Mutex<[TokenDerivation]>([])

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
        func isAuthority(of account: Account) -> Bool { true }

        func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
            .tokenExchange
        }

        func exchangeToken(
            for target: TokenTarget, of account: Account, by derivation: TokenDerivation
        ) async throws -> Credentials {
            derivations.withLock { $0.append(derivation) }
            guard derivation == .refresh else { throw AuthorityError.oauthError("unauthorized_client") }
            return Credentials(accessToken: Secret("narrow"), issuedAt: Fixture.now)
        }
    }

    @Test func `Derives by a refresh if an exchange for a narrower scope is refused`() async throws {
        let store = try await store()
        let authority = RefusingExchangeAuthority()
        let narrow = try TokenTarget(scopes: ["openid"])
        #expect(try await store.accessToken(for: narrow, timeout: nil, with: authority) == Secret("narrow"))
        #expect(authority.derivations.withLock(\.self) == [.tokenExchange, .refresh])
        // An audience requires an exchange.
        await expectAccountError(.misconfigured) {
            try await store.accessToken(for: audience, timeout: nil, with: authority)
        }
        #expect(authority.derivations.withLock(\.self) == [.tokenExchange, .refresh, .tokenExchange])
    }

    // MARK: Ending

    @Test func `Removes and revokes derived tokens on sign-out`() async throws {
        let store = try await store()
        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock)
        _ = try await store.accessToken(for: target, timeout: nil, with: authority)
        #expect(try await store.signOut(with: authority).revocation == .queued(.noResponse(.timeout)))
        #expect(store.account == nil)

        let taking = RevocationRecorder()
        clock.advance(by: .seconds(120))
        #expect(await store.deliverRevocations { _ in taking }.map(\.outcome) == [.done])
        #expect(
            taking.revoked.withLock { $0 }.map { $0.credentials.derivedTokens.map(\.credentials.accessToken) }
                == [[Secret("derived-1")]])
        #expect(storage.entries.keys.map(\.rawValue) == ["SignOut.plist"])
    }

    private final class RevocationRecorder: AccountAuthority {
        var issuer: String? { nil }
        let revoked = Mutex<[Account]>([])

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
        func isAuthority(of account: Account) -> Bool { true }

        func revoke(_ account: Account) async throws -> RevocationOutcome {
            revoked.withLock { $0.append(account) }
            return .done
        }
    }
}
