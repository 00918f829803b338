import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct AccountStoreTests {
    @Test func `Keeps an account signed in after a restart`() async throws {
        let storage = InMemoryArchiveStorage()
        let clock = ManualClock()
        let account = Account.fresh(at: clock.now)
        _ = try await AccountStore.inMemory(signedIn: account, clock: clock, storage: storage)

        let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        #expect(store.account == nil)
        #expect(await store.load() == .unverified(account, .init(.notChecked)))
        #expect(store.account == account)
    }

    @Test func `Keeps an account offline, and verifies it online`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(verify: [.refuse(.noResponse(.unreachable)), .accept], clock: clock)
        #expect(await store.checkSession(with: authority, timeout: nil).text == "unverified access-1: offline")
        #expect(await store.checkSession(with: authority, timeout: nil).text == "verified access-1")
        #expect(store.account?.verifiedAt == clock.now)
    }

    @Test(arguments: [-1e9, -1e6, -1, 0, 1, 1e6, 1e9])
    func `Does not sign the user out after a clock change`(seconds: TimeInterval) async throws {
        let clock = ManualClock()
        let service = ModelService(clock: clock)
        let store = try await AccountStore.inMemory(signedIn: service.account(of: "alice"), clock: clock)
        clock.advance(by: .seconds(seconds))
        guard case .verified = await store.checkSession(with: service, timeout: nil) else {
            Issue.record("the session was lost")
            return
        }
        clock.advance(by: .seconds(-2 * seconds))
        #expect(try await service.verify(#require(store.account)).username == "alice")
        service.trouble = .noResponse(.unreachable)
        #expect(await store.checkSession(with: service, timeout: nil).account?.username == "alice")
    }

    @Test func `Clears the account and stores the reason after an explicit rejection`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(
            signedIn: .expired(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(refresh: [.refuse(.oauthError("invalid_grant"))], clock: clock)
        let state = await store.checkSession(with: authority, timeout: nil)
        let signOut = SignOut(
            .sessionEnded, date: clock.now, issuer: "https://auth.example.com", detail: "invalid_grant")
        #expect(state == .signedOut(signOut))
        #expect(store.account == nil)
        #expect(try await storage.stateForNewProcess() == .signedOut(signOut))
        await expectAccountError(.notSignedIn) { try await store.accessToken(timeout: nil, with: authority) }
        await expectAccountError(.notSignedIn) { try await store.update { _ in } }

        try await store.signIn { .fresh(at: clock.now) }
        try await store.signOut()
        #expect(try await storage.stateForNewProcess() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
    }

    @Test func `Shares a store with the process, or only with a test`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        AccountStore.shared = store
        #expect(AccountStore.shared === store)
        #expect(AccountStore.shared?.account?.username == "alice")

        // A test and its child tasks have a separate shared store. The shared store of the app stays the same.
        let own = try await AccountStore.inMemory(signedIn: nil)
        try await AccountStore.withShared(own) {
            #expect(AccountStore.shared === own)
            async let inChild = AccountStore.shared
            #expect(await inChild === own)
            #expect(await Task.detached { AccountStore.shared }.value === store)
            // The tested code shares its store only within the test.
            let another = try await AccountStore.inMemory(signedIn: nil)
            AccountStore.shared = another
            #expect(AccountStore.shared === another)
            AccountStore.shared = nil
            #expect(AccountStore.shared == nil)
        }
        #expect(AccountStore.shared === store)
    }
}
