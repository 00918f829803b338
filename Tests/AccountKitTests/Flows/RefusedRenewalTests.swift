import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

/// A session that the service no longer renews, although it has not rejected the tokens: the account stays, and each caller that
/// needs a token hears that only another sign-in helps.
struct RefusedRenewalTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store(expiringIn seconds: TimeInterval?) async throws -> AccountStore {
        try await AccountStore.inMemory(
            signedIn: .testing(at: clock.now, expiringIn: seconds.map { .seconds($0) }), clock: clock, storage: storage)
    }

    private func service(_ failure: AuthorityError) -> ScriptedAuthority {
        ScriptedAuthority(refresh: [.refuse(failure)], clock: clock)
    }

    @Test(arguments: SessionDecisionTests.refusals)
    func `Reports a refusal once the access token has expired`(failure: AuthorityError) async throws {
        let store = try await store(expiringIn: 30)
        let service = service(failure)
        // Until then, programs get the token.
        #expect(
            try await store.accessToken(minimumValidity: .seconds(60), timeout: nil, with: service)
                == Secret("access-1"))
        #expect(await store.renewalRefusal(of: try #require(store.account)) == nil)
        clock.advance(by: .seconds(30))
        let error = await expectAccountError(.renewalRefused) {
            try await store.accessToken(timeout: nil, with: service)
        }
        #expect(error?.message.hasPrefix("the service no longer renews this session") == true)
        #expect(error?.hint == "sign in again")
        guard case .unverified(let account, let reason) = await store.checkSession(with: service, timeout: nil) else {
            Issue.record("the account is kept")
            return
        }
        #expect(reason.code == .renewalRefused && account.username == "alice")
        #expect(await store.renewalRefusal(of: account)?.code == .renewalRefused)
        #expect(try await storage.stateForNewProcess().account?.username == "alice")
    }

    @Test func `Tells another process during the pause, and sends nothing`() async throws {
        let first = try await store(expiringIn: 0)
        let service = service(.refused(status: 400))
        await expectAccountError(.renewalRefused) { try await first.accessToken(timeout: nil, with: service) }
        let second = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let error = await expectAccountError(.renewalRefused) {
            try await second.accessToken(timeout: nil, with: service)
        }
        #expect(error?.message.contains("400 without an OAuth error") == true)
        #expect(service.requests == [.refresh])
        #expect(await second.renewalRefusal(of: try #require(second.account)) != nil)
    }

    @Test func `Reports a refusal for a token of unknown expiry that an API refused`() async throws {
        let store = try await store(expiringIn: nil)
        let service = service(.oauthError("bad_refresh_token"))
        let account = try #require(store.account)
        await expectAccountError(.renewalRefused) {
            try await store.account(insteadOf: account, timeout: nil, with: service)
        }
        service.respond(to: .verify, with: [.refuse(.unauthorized(error: nil))])
        clock.advance(by: .seconds(300))
        #expect(await store.checkSession(with: service, timeout: nil).text == "unverified access-1: renewalRefused")
        #expect(await store.renewalRefusal(of: account) == nil, "an unknown expiry is never evidence")
    }

    @Test func `Continues the session if the service renews it again`() async throws {
        let store = try await store(expiringIn: 0)
        let service = service(.refused(status: 404))
        await expectAccountError(.renewalRefused) { try await store.accessToken(timeout: nil, with: service) }
        service.respond(to: .refresh, with: [.accept])
        clock.advance(by: .seconds(300))
        #expect(try await store.accessToken(timeout: nil, with: service) == Secret("access-2"))
        #expect(storage.entries[.refreshRecord] == nil)
        #expect(await store.renewalRefusal(of: try #require(store.account)) == nil)
    }

    @Test func `Reports the later failure if the service is unreachable after a refusal`() async throws {
        let store = try await store(expiringIn: 0)
        let service = service(.oauthError("invalid_request"))
        await expectAccountError(.renewalRefused) { try await store.accessToken(timeout: nil, with: service) }
        service.respond(to: .refresh, with: [.refuse(.noResponse(.refused))])
        clock.advance(by: .seconds(300))
        let error = await expectAccountError(.serviceUnavailable) {
            try await store.accessToken(timeout: nil, with: service)
        }
        #expect(error?.message.contains("offline") == true)
    }

    @Test func `Hints at another sign-in if a requested refresh is refused`() async throws {
        let store = try await store(expiringIn: 3600)
        let error = await expectAccountError(.misconfigured) {
            try await store.refresh(with: service(.oauthError("unauthorized_client")))
        }
        #expect(error?.hint == AccountError.signInIfRefusedAgain)
        await expectAccountError(.misconfigured) {
            try await store.refresh(with: service(.oauthError("invalid_client")))
        }
    }
}
