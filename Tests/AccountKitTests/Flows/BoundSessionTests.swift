@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key of a session whose tokens are bound to it. Without the key, the service accepts no token of the session.
struct BoundSessionTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()
    private let key = Secret("the key of this session: 32 byte")

    private var bound: Account {
        var account = Account.testing(at: clock.now)
        account.credentials.tokenType = Credentials.boundType
        account.credentials.proofKey = key
        return account
    }

    private func store(_ account: Account? = nil) async throws -> AccountStore {
        try await .inMemory(signedIn: account, clock: clock, storage: storage)
    }

    private func tokens(_ number: Int, _ type: String = Credentials.boundType, refreshes: Bool = true) -> Credentials {
        Credentials(
            accessToken: Secret("access-\(number)"), refreshToken: refreshes ? Secret("refresh-\(number)") : nil,
            tokenType: type, issuedAt: clock.now, expiresAt: clock.now.addingTimeInterval(3600))
    }

    private func storedKey() async throws -> Secret? {
        try await storage.stateForNewProcess().account?.credentials.proofKey
    }

    @Test func `Keeps the key in each change of a session`() async throws {
        let store = try await store(bound)
        let service = ScriptedAuthority(
            refresh: [.tokens(tokens(2))], derive: [.tokens(tokens(3, refreshes: false))], clock: clock)
        #expect(try await storedKey() == key)
        try await store.refresh(with: service)
        #expect(try await storedKey() == key)
        try await store.update { $0.profile.nickname = "Ally" }
        #expect(try await storedKey() == key)
        for target in [try TokenTarget(audience: "api"), try TokenTarget(scopes: ["openid"])] {
            _ = try await store.accessToken(for: target, timeout: nil, with: service)
            #expect(try await storedKey() == key)
        }
        #expect(await store.checkSession(with: service, maximumAge: .zero).account?.credentials.proofKey == key)
        #expect(try await storedKey() == key)
    }

    @Test func `Stores an unbound response to a refresh, and returns no token`() async throws {
        let store = try await store(bound)
        let responses = [tokens(2, "Bearer"), tokens(3)]
        let service = ScriptedAuthority(refresh: responses.map { .tokens($0) }, clock: clock)
        let error = await expectAccountError(.serviceUnavailable) { try await store.refresh(with: service) }
        #expect(error?.description.contains("not bound to the key") == true)
        let state = try await storage.stateForNewProcess()
        #expect(state.text == "unverified access-2: unclearReply")
        #expect(state.account?.credentials.refreshToken == Secret("refresh-2"))
        #expect(state.account?.credentials.proofKey == key)
        #expect(state.account?.verifiedAt == bound.verifiedAt)
        let target = try TokenTarget(scopes: ["read"])
        for store in [store, try await self.store()] {
            await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: service) }
            await expectAccountError(.serviceUnavailable) {
                try await store.accessToken(for: target, timeout: nil, with: service)
            }
            await expectAccountError(.serviceUnavailable) {
                try await store.account(insteadOf: bound, timeout: nil, with: service)
            }
        }
        // All processes pause before the next refresh.
        #expect(service.requests == [.refresh])
        clock.advance(by: .seconds(300))
        #expect(try await self.store().accessToken(timeout: nil, with: service) == Secret("access-3"))
        #expect(service.requests == [.refresh, .refresh])
        #expect(try await storage.stateForNewProcess().text == "unverified access-3: notChecked")
    }

    @Test func `Stores no unbound token for another API, but its refresh token`() async throws {
        let store = try await store(bound)
        let service = ScriptedAuthority(derive: [.tokens(tokens(2, "Bearer"))], clock: clock)
        let target = try TokenTarget(scopes: ["read"])
        await expectAccountError(.serviceUnavailable) {
            try await store.accessToken(for: target, timeout: nil, with: service)
        }
        let stored = try #require(try await storage.stateForNewProcess().account?.credentials)
        #expect(stored.accessToken == bound.credentials.accessToken && !stored.isWithheld)
        #expect(stored.refreshToken == Secret("refresh-2") && stored.derivedTokens.isEmpty)
    }

    @Test func `A check does not confirm an unbound token that is already stored`() async throws {
        for hasRefreshToken in [true, false] {
            var account = bound
            account.credentials.tokenType = "Bearer"
            if !hasRefreshToken { account.credentials.refreshToken = nil }
            let store = try await AccountStore.inMemory(signedIn: account, clock: clock)
            let service = ScriptedAuthority(refresh: [.tokens(tokens(2))], clock: clock)
            let state = await store.checkSession(with: service, maximumAge: .seconds(900), timeout: nil)
            #expect(state.text == (hasRefreshToken ? "verified access-2" : "unverified access-1: unclearReply"))
            #expect(service.requests == (hasRefreshToken ? [.refresh] : []))
        }
    }

    @Test func `Keeps the key in a queued revocation`() async throws {
        let store = try await store(bound)
        let service = ScriptedAuthority(revoke: [.refuse(.noResponse(.unreachable))], clock: clock)
        _ = try await store.signOut(with: service)
        let queued = try #require(await store.vault.revocations.readable().first).payload.account
        #expect(queued.credentials.proofKey == key)
    }

    @Test func `Keeps the key when space is freed for new tokens`() {
        var account = bound
        while account.makeRoom() {}
        #expect(account.credentials.proofKey == key)
    }

    @Test func `Shows no part of the key in a description`() {
        var dumped = ""
        dump(bound, to: &dumped)
        expectNoLeak(of: [key], in: dumped + "\(bound) \(bound.credentials)" + String(reflecting: bound))
    }
}
