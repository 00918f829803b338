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

    private func store(_ account: Account? = nil) async throws -> AccountStore {
        try await .inMemory(signedIn: account ?? .machine(at: clock.now), clock: clock, storage: storage)
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

    @Test func `Only the process with a refused client pauses`() async throws {
        let refusals: [AuthorityError] = [
            .oauthError("invalid_client"), .unauthorized(error: nil), .refused(status: 400), .unclear("page"),
        ]
        for refusal in refusals {
            let storage = InMemoryArchiveStorage()
            let store = try await AccountStore.inMemory(
                signedIn: .machine(at: clock.now, expiringIn: .zero), clock: clock, storage: storage)
            let wrong = ScriptedAuthority(refresh: [.refuse(refusal)], clock: clock)
            for _ in 0..<5 { _ = try? await store.accessToken(timeout: nil, with: wrong) }
            #expect(wrong.requests == [.refresh], "\(refusal)")
            clock.advance(by: .seconds(2))
            _ = try? await store.accessToken(timeout: nil, with: wrong)
            #expect(wrong.requests.count == 2, "\(refusal)")
            let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
            let right = ScriptedAuthority(clock: clock)
            #expect(try await other.accessToken(timeout: nil, with: right) == Secret("access-2"), "\(refusal)")
        }
    }

    @Test func `A new token ends the withholding of a machine's token`() async throws {
        let store = try await store()
        let confused = ScriptedAuthority(refresh: [.refuse(.otherUser(id: "bob"))], clock: clock)
        _ = await store.confirmMachine(with: confused, timeout: nil)
        #expect(await store.load().account?.credentials.isWithheld == true)
        let service = ScriptedAuthority(clock: clock)
        #expect(try await store.accessToken(timeout: nil, with: service) == Secret("access-2"))
        #expect(await store.load().account?.credentials.isWithheld == false)
    }

    @Test func `Adopts the same token from a service that caches it`() async throws {
        let account = Account.machine(at: clock.now, expiringIn: .zero)
        _ = try await store(account)
        clock.advance(by: .seconds(10))
        var again = account
        (again.credentials.issuedAt, again.credentials.expiresAt) = (clock.now, clock.now.addingTimeInterval(60))
        let grant = RefreshGrant.renewing(account)
        #expect(grant.isNeeded(for: account, inPlaceOf: account, at: clock.now))
        #expect(!grant.isNeeded(for: again, inPlaceOf: account, at: clock.now))
    }

    @Test func `Drops the queued tokens of a client when all have expired`() async throws {
        var account = Account.machine(at: clock.now)
        let target = try TokenTarget(audience: "urn:api")
        var derived = account.credentials
        derived.expiresAt = clock.now.addingTimeInterval(7200)
        account.credentials.keep(derived, for: target, at: clock.now)
        let store = try await store(account)
        let service = ScriptedAuthority(revoke: [.refuse(.noResponse(.unreachable))], clock: clock)
        _ = try await store.signOut(with: service)
        for (seconds, count) in [(3600, 1), (3600, 0)] {
            clock.advance(by: .seconds(seconds))
            await store.deliverRevocations { _ in nil }
            #expect(try await store.pendingRevocations().count == count)
        }
    }

    @Test func `Shares the pause after the service was unreachable`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let service = ScriptedAuthority(refresh: [.refuse(.noResponse(.unreachable))], clock: clock)
        await expectAccountError(.serviceUnavailable) { try await store.accessToken(timeout: nil, with: service) }
        let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        await expectAccountError(.serviceUnavailable) { try await other.accessToken(timeout: nil, with: service) }
        #expect(service.requests == [.refresh])
    }

    @Test func `A check sends no request until a machine's token expires`() async throws {
        let store = try await store()
        let service = ScriptedAuthority(clock: clock)
        clock.advance(by: .seconds(3599))
        #expect(await store.checkSession(with: service, timeout: nil).text == "verified access-1")
        #expect(service.requests == [])
        clock.advance(by: .seconds(1))
        #expect(await store.checkSession(with: service, timeout: nil).text == "verified access-2")
        #expect(service.requests == [.refresh])
        #expect(await store.confirmMachine(with: service, timeout: nil).text == "verified access-3")
        service.respond(to: .refresh, with: [.refuse(.noResponse(.unreachable))])
        #expect(await store.confirmMachine(with: service, timeout: nil).text == "unverified access-3: offline")
    }

    @Test func `Requests another token when an API rejects a machine's token`() async throws {
        let store = try await store()
        let service = ScriptedAuthority(clock: clock)
        let refused = try #require(store.account)
        let account = try #require(try await store.account(insteadOf: refused, timeout: nil, with: service))
        #expect(account.credentials.accessToken == Secret("access-2"))
        // If the API refuses this token too, another one would not help.
        store.noteRefusedReplacement(account)
        #expect(try await store.account(insteadOf: account, with: service) == nil)
        #expect(service.requests == [.refresh])
    }

    @Test func `Records no failure that concerns only one process`() async throws {
        let store = try await store(.machine(at: clock.now, expiringIn: .zero))
        let withoutSecret = UnpreparedService()
        await expectAccountError(.misconfigured) { try await store.accessToken(timeout: nil, with: withoutSecret) }
        let other = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
        let service = ScriptedAuthority(clock: clock)
        #expect(try await other.accessToken(timeout: nil, with: service) == Secret("access-2"))
    }

    /// A service whose requests cannot be prepared, because this process has no client secret.
    private struct UnpreparedService: ServiceAuthority {
        var issuer: String? { nil }

        func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
            throw AuthorityError.misconfigured("the client secret is missing")
        }

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }

        func isAuthority(of account: Account) -> Bool { true }
    }
}
