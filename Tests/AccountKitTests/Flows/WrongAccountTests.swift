import AccountKit
import AccountTesting
import Testing

/// A service that returns another user for the stored token.
struct WrongAccountTests {
    private let base = InMemoryArchiveStorage()
    private static let bob = Identity(id: "bob", username: "bob")

    private func signedIn() async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: Fixture.alice, storage: base)
    }

    /// The store of another process.
    private func other() async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: nil, storage: base)
    }

    @Test func `Returns no token until the service confirms the account again`() async throws {
        let authority = ScriptedAuthority(verify: [.identity(Self.bob), .identity(Self.bob), .accept])
        let state = try await signedIn().checkSession(with: authority, timeout: nil)
        #expect(state.text.hasSuffix(": wrongAccount"))
        #expect(try await other().load().text.hasSuffix(": wrongAccount"))
        await expectAccountError(.serviceUnavailable) { try await other().accessToken(timeout: nil, with: authority) }
        #expect(try await other().accessToken(timeout: nil, with: authority) == Fixture.alice.credentials.accessToken)
        #expect(try await other().load().text.hasSuffix(": notChecked"))
        #expect(authority.requests == [.verify, .verify, .verify])
    }

    @Test func `Returns no token after a refresh that returned another user`() async throws {
        let authority = ScriptedAuthority(refresh: [.refuse(.otherUser(id: "bob"))])
        await expectAccountError(.serviceUnavailable) { try await signedIn().refresh(with: authority) }
        #expect(
            try await base.stateForNewProcess().account?.credentials.refreshToken
                == Fixture.alice.credentials.refreshToken)
        let offline = ScriptedAuthority(verify: [.refuse(.noResponse(.unreachable))])
        await expectAccountError(.serviceUnavailable) { try await other().accessToken(timeout: nil, with: offline) }
        let target = try TokenTarget(scopes: ["read"])
        await expectAccountError(.serviceUnavailable) {
            try await other().accessToken(for: target, timeout: nil, with: offline)
        }
        #expect(try await other().accessToken(timeout: nil, with: authority) == Fixture.alice.credentials.accessToken)
    }

    @Test func `Stores the tokens of a refresh with another user, and withholds them`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock, storage: base)
        var lie = Credentials(
            accessToken: Secret("access-2"), refreshToken: Secret("refresh-2"), issuedAt: clock.now)
        lie.isOfOtherUser = true
        let authority = ScriptedAuthority(
            verify: [.refuse(.noResponse(.unreachable)), .accept], refresh: [.tokens(lie)], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: authority) }
        #expect(try await base.stateForNewProcess().account?.credentials.refreshToken == Secret("refresh-2"))
        #expect(try await base.stateForNewProcess().text == "unverified access-2: wrongAccount")
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: authority) }
        // Once the service confirms the account, programs get the new token.
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-2"))
        #expect(authority.requests == [.refresh, .verify, .verify])
    }

    @Test func `A token for another API of another user leaves the refresh token`() async throws {
        var lie = Credentials(accessToken: Secret("d2"), refreshToken: Secret("refresh-2"), issuedAt: Fixture.now)
        lie.isOfOtherUser = true
        let authority = ScriptedAuthority(derive: [.tokens(lie)])
        let target = try TokenTarget(scopes: ["read"])
        await expectAccountError(.serviceUnavailable) {
            try await signedIn().accessToken(for: target, timeout: nil, with: authority)
        }
        let stored = try #require(try await base.stateForNewProcess().account?.credentials)
        #expect(stored.refreshToken == Secret("refresh-2") && stored.derivedTokens.isEmpty && stored.isOfOtherUser)
    }

    @Test func `Delays the next refresh after a refresh that returned another user`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .expired(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(refresh: [.refuse(.otherUser(id: "bob")), .accept], clock: clock)
        for _ in 1...3 {
            await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: authority) }
        }
        #expect(authority.requests == [.refresh])
        clock.advance(by: .seconds(300))
        #expect(try await store.accessToken(timeout: nil, with: authority) == Secret("access-2"))
        #expect(authority.requests == [.refresh, .refresh, .verify])
    }

    @Test func `Returns no old token if a refresh returned another user`() async throws {
        let store = try await signedIn()
        let authority = ScriptedAuthority(refresh: [.refuse(.otherUser(id: "bob"))])
        await expectAccountError(.serviceUnavailable) {
            try await store.accessToken(minimumValidity: .seconds(1_000_000), timeout: nil, with: authority)
        }
        #expect(authority.requests == [.refresh])
    }

    @Test func `Verifies again after a wrong account despite a recent successful check`() async throws {
        let authority = ScriptedAuthority(verify: [.identity(Self.bob), .accept])
        var alice = Fixture.alice
        alice.verifiedAt = Fixture.now
        let store = try await AccountStore.inMemory(signedIn: alice, storage: base)
        _ = await store.checkSession(with: authority, timeout: nil)
        let state = await store.checkSession(with: authority, maximumAge: .seconds(1_000_000))
        #expect(state.text.hasPrefix("verified"))
        #expect(authority.requests == [.verify, .verify])
    }
}
