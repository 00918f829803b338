@testable import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sessions without a user, which have no refresh token.
struct MachineSessionTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()
    private let rejection = ScriptedAuthority.Response.refuse(.oauthError(.invalidClient, description: "unknown"))

    private func store(_ account: Account? = nil) async throws -> AccountStore {
        try await .testing(signedIn: account ?? .machine(at: clock.now), clock: clock, storage: storage)
    }

    @Test func `Requests another token when the token of a machine expires`() async throws {
        let store = try await store()
        let service = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(with: service) == Secret("access-1"))
        clock.advance(by: .seconds(3600))
        #expect(try await store.accessToken(timeout: nil, with: service) == Secret("access-2"))
        #expect(service.requests == [.refresh])
        // The session stays a machine's, even if the service issued a refresh token.
        let stored = try #require(await storage.stateForNewProcess().account)
        #expect(stored.credentials.machine == MachineGrant())
        #expect(stored.credentials.refreshToken == nil)
        #expect(stored.verifiedAt == clock.now)
    }

    @Test func `Sends one request for the expired token of several processes`() async throws {
        _ = try await store(.machine(at: clock.now.addingTimeInterval(-7200)))
        let service = ScriptedAuthority(refresh: [.hang], clock: clock)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<20 {
                let store = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
                group.addTask { try await store.accessToken(timeout: nil, with: service) }
            }
            await service.waitForRequest(.refresh)
            service.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Secret("access-2"), count: 20))
        #expect(service.requests == [.refresh])
    }

    @Test func `Ends a machine's session at the second rejection five minutes later`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let service = ScriptedAuthority(refresh: [rejection], clock: clock)
        await expectAccountError(.misconfigured) { try await store.accessToken(timeout: nil, with: service) }
        // All processes share the pause.
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: service) }
        #expect(service.requests == [.refresh])
        clock.advance(by: .seconds(299))
        await expectAccountError(.misconfigured) { try await store.accessToken(timeout: nil, with: service) }
        #expect(store.account != nil)
        clock.advance(by: .seconds(60))
        await expectAccountError(.notSignedIn) { try await store.accessToken(timeout: nil, with: service) }
        guard case .signedOut(let signOut) = try await storage.stateForNewProcess() else {
            Issue.record("the session has not ended")
            return
        }
        #expect(signOut.reason == .sessionEnded && signOut.detail == "invalid_client")
    }

    @Test func `Forgets a rejection of the client after a success`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let service = ScriptedAuthority(refresh: [rejection, .accept, rejection], clock: clock)
        _ = try? await store.accessToken(timeout: nil, with: service)
        clock.advance(by: .seconds(301))
        #expect(try await store.accessToken(timeout: nil, with: service) == Secret("access-2"))
        clock.advance(by: .seconds(3600))
        await expectAccountError(.misconfigured) { try await store.accessToken(timeout: nil, with: service) }
        #expect(store.account != nil)
    }

    @Test func `Ignores the record of a rejection before the last success`() async throws {
        let stored = Fixture.machine
        for (seconds, isEnded) in [(-2, false), (0, true), (2, true)] as [(TimeInterval, Bool)] {
            var run = await FlowRun(RefreshFlow(of: stored, now: Fixture.now))
            try await run.connect(stored)
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.old)))
            try await run.expect("withdraw revocation", then: .done)
            try await run.expect("prepare save", then: .done)
            let since = stored.credentials.issuedAt.addingTimeInterval(seconds)
            try await run.expect(
                "begin exchange", then: .intentRecorded(unfinished: nil, clientRejectedSince: since))
            try await run.expect("end", then: .done)
            try await run.expect("request tokens", then: .refused(.oauthError(.invalidClient)))
            try await run.expect("begin", then: .done)
            try await run.expect("load", then: .content(.present(stored, Fixture.old)))
            #expect(run.action.name == (isEnded ? "clear" : "record failure"))
        }
    }

    @Test func `Confirms the session of a machine with another token`() async throws {
        let store = try await store()
        let service = ScriptedAuthority(clock: clock)
        #expect(await store.checkSession(with: service, maximumAge: .seconds(900)).text == "verified access-1")
        #expect(service.requests == [])
        #expect(await store.checkSession(with: service, maximumAge: .zero, timeout: nil).text == "verified access-2")
        #expect(service.requests == [.refresh])
        service.respond(to: .refresh, with: [.refuse(.noResponse(.unreachable))])
        #expect(
            await store.checkSession(with: service, maximumAge: .zero, timeout: nil).text
                == "unverified access-2: offline")
    }

    @Test func `Adopts another process's token in a check`() async throws {
        let store = try await store()
        let other = try await AccountStore.testing(signedIn: nil, clock: clock, storage: storage)
        let service = ScriptedAuthority(refresh: [.hang], clock: clock)
        let first = Task { await store.checkSession(with: service, maximumAge: .zero, timeout: nil) }
        await service.waitForRequest(.refresh)
        let second = Task { await other.checkSession(with: service, maximumAge: .zero, timeout: nil) }
        service.release()
        #expect(await first.value.text == "verified access-2")
        // The second process adopts the token, or requests its own if it begins later.
        guard case .verified = await second.value else {
            Issue.record("the machine is not verified")
            return
        }
        #expect(!service.requests.contains(.verify))
    }

    @Test func `Requests another token when an API rejects a machine's token`() async throws {
        let store = try await store()
        let service = ScriptedAuthority(clock: clock)
        let refused = try #require(store.account)
        // A token that was issued a moment ago is not replaced.
        #expect(try await store.account(insteadOf: refused, with: service) == nil)
        clock.advance(by: .seconds(60))
        let account = try await store.account(insteadOf: refused, timeout: nil, with: service)
        #expect(account?.credentials.accessToken == Secret("access-2"))
    }

    @Test func `Records no failure that concerns only one process`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let withoutSecret = UnpreparedService()
        await expectAccountError(.misconfigured) { try await store.accessToken(timeout: nil, with: withoutSecret) }
        let service = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(timeout: nil, with: service) == Secret("access-2"))
    }

    @Test func `Revokes the new token of a machine that has signed out`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let service = ScriptedAuthority(refresh: [.hang], clock: clock)
        let token = Task { try await store.accessToken(timeout: nil, with: service) }
        await service.waitForRequest(.refresh)
        _ = try await store.signOut()
        service.release()
        await expectAccountError(.notSignedIn) { try await token.value }
        #expect(service.requests == [.refresh, .revoke])
    }

    /// A service whose requests cannot be prepared, because this process has no client secret.
    private struct UnpreparedService: AccountAuthority, ExchangeAuthority {
        func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
            throw AuthorityError.misconfigured("the client secret is missing")
        }

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }

        func isAuthority(of account: Account) -> Bool { true }
    }
}
