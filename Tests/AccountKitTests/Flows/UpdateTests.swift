import AccountKit
import AccountTesting
import TestScene
import Testing

struct UpdateTests {
    private let base = InMemoryArchiveStorage()

    @Test func `Applies an update to the account that is stored now`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice, storage: base)
        let other = try await AccountStore.inMemory(signedIn: nil, storage: base)
        try await other.update { $0.profile.nickname = "Ally" }
        #expect(store.account?.profile.nickname == nil)
        let changed = try await store.update { $0.profile.points = 7 }
        #expect(changed.profile.nickname == "Ally")
        #expect(changed.profile.points == 7)
        #expect(try await base.stateForNewProcess().account == changed)
    }

    @Test func `Stores no account after an update whose body throws`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice, storage: base)
        let before = base.entries
        await expectAccountError(.invalidArgument) {
            try await store.update { account throws(AccountError) in
                account.profile.points = 7
                throw AccountError(.invalidArgument, "no")
            }
        }
        #expect(base.entries == before)
        #expect(store.account?.profile.points == nil)
        // The failed update also releases the lock.
        try await store.update { $0.profile.points = 8 }
    }

    @Test(arguments: ["alice", "nobody", "damaged"])
    func `Changes nothing in a failed update, whichever storage call fails`(before: String) async throws {
        if before != "nobody" { _ = try await AccountStore.inMemory(signedIn: Fixture.alice, storage: base) }
        if before == "damaged" { base.overwrite(.account, with: [1, 2, 3]) }
        let entries = base.entries
        for number in 1...10 {
            for error in Fixture.failures {
                let storage = FaultyArchiveStorage(base)
                storage.inject(.fails(error), at: number)
                let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
                do {
                    try await store.update { $0.profile.points = 7 }
                    #expect(before == "alice")
                    #expect(try await base.stateForNewProcess().account?.profile.points == 7, "call \(number)")
                    base.overwrite(.account, with: entries[.account]?.bytes)
                } catch {
                    #expect(base.entries.mapValues(\.bytes) == entries.mapValues(\.bytes), "call \(number)")
                }
            }
        }
    }
}
