import AccountTesting
import Synchronization
import Testing

@testable import AccountKit

/// A sign-in while another user is signed in, and the handler that decides whether the new account replaces the old
/// one.
struct ReplacementTests {
    private let storage = InMemoryArchiveStorage()

    private func store(confirming handler: @escaping ReplacementHandler) async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: Fixture.alice, storage: storage).confirmingReplacements(handler)
    }

    @Test(arguments: SignInExchangeTests.Way.allCases)
    func `Calls the handler once before a sign-in replaces another user`(way: SignInExchangeTests.Way) async throws {
        let questions = Mutex<[[String]]>([])
        let store = try await store { stored, new in
            questions.withLock { $0.append([stored.id, new.id]) }
            return .replace
        }
        #expect(try await way.signIn(store, SteppedAuthority()).id == "carol")
        #expect(questions.withLock(\.self) == [[Fixture.alice.id, "carol"]])
        #expect(try await storage.stateForNewProcess().account?.id == "carol")
        #expect(try await store.pendingRevocations().count == 1, "alice's tokens wait for their revocation")
        // A sign-in of the same user needs no confirmation.
        _ = try await way.signIn(store, SteppedAuthority())
        #expect(questions.withLock(\.count) == 1)
    }

    @Test(arguments: SignInExchangeTests.Way.allCases)
    func `Keeps the account and revokes new tokens if the handler throws`(
        way: SignInExchangeTests.Way
    ) async throws {
        let store = try await store { _, _ throws(AccountError) in throw AccountError(.cancelled, "no") }
        let before = storage.entries
        let authority = SteppedAuthority()
        await expectAccountError(.cancelled) { try await way.signIn(store, authority) }
        #expect(storage.entries == before)
        #expect(store.account == Fixture.alice && store.hasFinishedExchanges)
        #expect(authority.revoked == ["access-2"])
    }

    @Test(arguments: SignInExchangeTests.Way.allCases)
    func `Keeps the ID of the stored account if the handler says so`(way: SignInExchangeTests.Way) async throws {
        let store = try await store { _, _ in .keepID }
        #expect(try await way.signIn(store, SteppedAuthority()).id == Fixture.alice.id)
        let stored = try #require(try await storage.stateForNewProcess().account)
        #expect(stored.id == Fixture.alice.id)
        #expect(stored.credentials.accessToken == Secret("access-2"))
    }

    @Test(arguments: SignInExchangeTests.Way.allCases)
    func `Stores the account in the session that the handler chooses`(
        way: SignInExchangeTests.Way
    ) async throws {
        let otherStorage = InMemoryArchiveStorage()
        let other = try await AccountStore.inMemory(signedIn: nil, storage: otherStorage)
        let store = try await store { _, _ in .store(in: other.vault) }
        let before = storage.entries
        let authority = SteppedAuthority()
        #expect(try await way.signIn(store, authority).id == "carol")
        #expect(storage.entries == before && store.account == Fixture.alice)
        #expect(try await otherStorage.stateForNewProcess().account?.id == "carol")
        #expect(authority.revoked.isEmpty)
    }

    @Test func `Holds no lock during the handler, and calls it for each other user`() async throws {
        let second = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        let asked = Mutex<[String]>([])
        let store = try await store { stored, _ throws(AccountError) in
            let isFirst = asked.withLock { asked in
                asked.append(stored.id)
                return asked.count == 1
            }
            // Another process signs in another user while the handler runs.
            if isFirst { try await second.signIn { Fixture.bob } }
            return .replace
        }
        let account = try await store.signIn(username: "carol", password: Secret("p"), with: SteppedAuthority())
        #expect(account.id == "carol")
        #expect(asked.withLock(\.self) == [Fixture.alice.id, "bob"])
        #expect(try await storage.stateForNewProcess().account?.id == "carol")
    }
}
