import AccountKit
import AccountTesting
import Synchronization
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct AccountChangeTests {
    @Test func `Keeps the simultaneous changes of several stores`() async throws {
        let storage = InMemoryArchiveStorage()
        let first = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let second = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        let before = try #require(try storage.storedGeneration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in [first, second] {
                for _ in 0..<50 {
                    group.addTask { try await store.update { $0.profile.points = ($0.profile.points ?? 0) + 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await storage.stateForNewProcess().account?.profile.points == 100)
        let after = try #require(try storage.storedGeneration)
        #expect(after == (before.lineage, before.generation + 100))
    }

    private struct Settings: Codable {
        var theme = "light"
        var pageSize = 50
        var visits = 0
        var project: String?
    }

    @Test func `Keeps another store's change of another field of the app's type`() async throws {
        let storage = InMemoryArchiveStorage()
        let first = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let second = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        _ = await second.load()
        try await first.updateFields(default: Settings()) { $0.theme = "dark" }
        // The account in memory of the second store is older than the stored one.
        try await second.updateFields(default: Settings()) {
            $0.pageSize = 10
            $0.project = "notes"
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in [first, second] {
                for _ in 0..<20 {
                    group.addTask { try await store.updateFields(default: Settings()) { $0.visits += 1 } }
                }
            }
            try await group.waitForAll()
        }
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(profile["theme"] == "dark")
        #expect(profile["pageSize"] == 10)
        #expect(profile["visits"] == 40)
        #expect(profile["project"] == "notes")
        #expect(profile.email == "alice@example.com")
    }

    @Test func `Stores only the fields that a change of the app's type changed`() async throws {
        let account = Account.fresh(at: ManualClock().now)
        let store = try await AccountStore.inMemory(signedIn: account)
        var expected = account.profile
        expected["visits"] = 1
        try await store.updateFields(default: Settings()) { $0.visits += 1 }
        #expect(store.account?.profile == expected, "an unchanged default value is not stored")
        try await store.updateFields(default: Settings()) { $0.project = "notes" }
        try await store.updateFields(default: Settings()) { $0.project = nil }
        #expect(store.account?.profile == expected, "nil removes the field")

        try await store.update { $0.profile["visits"] = "many" }
        await expectAccountError(.damaged) { try await store.updateFields(default: Settings()) { $0.theme = "dark" } }
        let refusal = AccountError(.invalidArgument, "no")
        await expectAccountError(.invalidArgument) {
            try await store.update { account throws(AccountError) in
                // Both functions throw the error type of `update`.
                account.profile.merge(try UserProfile(encoding: ["theme": "dark"]))
                _ = try account.profile.decoded(as: [String: ProfileValue].self)
                throw refusal
            }
        }
        expected["visits"] = "many"
        #expect(store.account?.profile == expected, "a change that fails stores nothing")
    }

    @Test func `Stores the profile as the service returns it`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let authority = ScriptedAuthority(clock: clock)
        authority.respond(
            to: .updateProfile,
            with: [.identity(Identity(id: Fixture.alice.id, username: "ally", profile: ["nickname": "ally"]))])
        let account = try await store.sendProfile(to: authority) {
            $0.nickname = "Ally"
            $0.name = nil
            $0.points = 3
        }
        #expect(account.username == "ally")
        #expect(account.profile == ["nickname": "ally", "points": 3, "email": "alice@example.com"])
        #expect(try await storage.stateForNewProcess().account == account)
    }

    /// Records the accounts it received.
    private final class OtherService: AccountAuthority {
        let seen = Mutex<[Account]>([])
        var issuer: String? { "https://other.example.com" }
        func verify(_ account: Account) async throws -> Identity { throw AuthorityError.rejected("unknown") }
        func updateProfile(of account: Account) async throws -> Identity {
            seen.withLock { $0.append(account) }
            return Identity(id: account.id)
        }
    }

    @Test func `Sends no profile to a service other than the account's service`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        let other = OtherService()
        await expectAccountError(.misconfigured) {
            try await store.sendProfile(to: other) { $0.nickname = "Ally" }
        }
        #expect(other.seen.withLock { $0.isEmpty })
    }

    @Test(
        arguments: [
            (.noResponse(.timeout), .serviceUnavailable),
            (.unavailable(status: 503, retryAfter: nil), .serviceUnavailable),
            (.refused(status: 422), .requestRefused), (.misconfigured("not supported"), .misconfigured),
        ] as [(AuthorityError, AccountError.Code)])
    func `Keeps the account unchanged after a failed profile update`(
        failure: AuthorityError, code: AccountError.Code
    ) async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let before = storage.entries
        let authority = ScriptedAuthority()
        authority.respond(to: .updateProfile, with: [.refuse(failure)])
        let error = await expectAccountError(code) {
            try await store.sendProfile(to: authority) { $0.nickname = "Ally" }
        }
        #expect((error?.hint == nil) == (code != .serviceUnavailable), "only a failure that may pass is worth a try")
        #expect(storage.entries == before)
        #expect(store.account?.profile.nickname == nil)
    }

    @Test func `Sends a profile again with a new token if the service refuses the token`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(clock: clock)
        authority.respond(to: .updateProfile, with: [.refuse(.unauthorized(error: nil)), .accept])
        #expect(try await store.sendProfile(to: authority) { $0.nickname = "Ally" }.profile.nickname == "Ally")
        #expect(authority.requests == [.updateProfile, .refresh, .updateProfile])
        authority.respond(
            to: .updateProfile, with: [.refuse(.unauthorized(error: nil)), .refuse(.unauthorized(error: nil))])
        await expectAccountError(.requestRefused) { try await store.sendProfile(to: authority) { $0.nickname = "Al" } }
    }

    @Test func `Sends no profile with the token of another user`() async throws {
        let clock = ManualClock()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock)
        let authority = ScriptedAuthority(verify: [.identity(Identity(id: "mallory"))], clock: clock)
        _ = await store.checkSession(with: authority)
        authority.respond(to: .verify, with: [.identity(Identity(id: "mallory"))])
        await #expect(throws: AccountError.self) { try await store.sendProfile(to: authority) { $0.nickname = "Ally" } }
        #expect(!authority.requests.contains(.updateProfile))
    }

    @Test func `Keeps another process's change of another field in a profile update`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let other = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        let authority = ScriptedAuthority()
        authority.respond(to: .updateProfile, with: [.hang])
        let change = Task { try await store.sendProfile(to: authority) { $0.nickname = "Ally" } }
        await authority.waitForRequest(.updateProfile)
        try await other.update {
            $0.profile.points = 5
            $0.profile.email = nil
        }
        authority.release()
        let profile = try await change.value.profile
        #expect(profile == ["nickname": "Ally", "points": 5, "name": "Alice Liddell"])
    }

    @Test func `Refuses an account that is too large and keeps the old account`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        await expectAccountError(.tooLarge) {
            try await store.update { $0.profile["picture"] = .data(Data(count: 1024 * 1024)) }
        }
        #expect(try await storage.stateForNewProcess().account == store.account)
        try await store.update { $0.profile["picture"] = .data(Data(count: 1000 * 1024)) }
        #expect(try await storage.stateForNewProcess().account == store.account)
    }
}
