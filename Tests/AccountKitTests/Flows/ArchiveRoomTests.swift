@testable import AccountKit
import AccountTesting
import AccountCrypto
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ArchiveRoomTests {
    private let clock = ManualClock()
    private let storage = InMemoryArchiveStorage()

    private func store() async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
    }

    private func stored() async throws -> Account {
        try #require(try await storage.stateForNewProcess().account)
    }

    /// Writes an archive that uses the room for longer tokens.
    private func fill(_ store: AccountStore, with change: (inout Account, Int) -> Void) async throws {
        let context = store.vault.context
        try await store.vault.change { draft in
            guard case .present(var account, let revision) = await draft.stored() else { return }
            let keys = try await draft.opened(revision).keys
            let used = try context.seal(account, with: keys).bytes.count
            change(&account, ArchivePropertyList.maximumByteCount - used - 1024)
            let bytes = try context.seal(account, with: keys).bytes
            #expect(bytes.count > ArchivePropertyList.maximumByteCount - 8192)
            _ = try await draft.transaction.replace(.account, with: bytes, ifRevision: revision)
        }
        _ = await store.load()
    }

    private func tokens(ofByteCount count: Int) -> ScriptedAuthority.Response {
        .tokens(
            Credentials(
                accessToken: Secret(String(repeating: "a", count: count)), refreshToken: Secret("refresh-2"),
                issuedAt: clock.now, expiresAt: clock.now.addingTimeInterval(3600)))
    }

    @Test func `Saves longer tokens of a refresh in a full archive`() async throws {
        let store = try await store()
        try await fill(store) { account, room in
            account.profile["avatar"] = .data(Data(count: room))
            account.profile["city"] = "Oxford"
        }
        let authority = ScriptedAuthority(refresh: [tokens(ofByteCount: 20_000)], clock: clock)
        try await store.refresh(with: authority)
        let account = try await stored()
        #expect(account.credentials.refreshToken == Secret("refresh-2"))
        #expect(account.credentials.accessToken.byteCount == 20_000)
        #expect(account.profile["avatar"] == nil)
        #expect(account.profile["city"] == "Oxford")
        #expect(store.account == account)
    }

    @Test func `Drops many small profile fields to make room in a refresh`() async throws {
        let store = try await store()
        try await fill(store) { account, room in
            let text = ProfileValue.string(String(repeating: "x", count: 470))
            for number in 0..<room / 500 { account.profile["field \(10_000 + number)"] = text }
        }
        let count = try #require(store.account).profile.fields.count
        let authority = ScriptedAuthority(refresh: [tokens(ofByteCount: 20_000)], clock: clock)
        try await store.refresh(with: authority)
        let account = try await stored()
        #expect(account.credentials.refreshToken == Secret("refresh-2"))
        #expect((count - 200..<count).contains(account.profile.fields.count))
    }

    @Test func `Keeps the profile in a full archive if the refreshed tokens fit`() async throws {
        let store = try await store()
        try await fill(store) { account, room in account.profile["avatar"] = .data(Data(count: room)) }
        try await store.refresh(with: ScriptedAuthority(clock: clock))
        let account = try await stored()
        #expect(account.credentials.refreshToken == Secret("refresh-2"))
        #expect(account.profile["avatar"] != nil)
    }

    @Test func `Spends no refresh token if the tokens alone fill the archive`() async throws {
        let store = try await store()
        try await fill(store) { account, room in
            account.credentials.idToken = Secret(String(repeating: "i", count: room))
        }
        let authority = ScriptedAuthority(clock: clock)
        await expectAccountError(.inaccessible) { try await store.refresh(with: authority) }
        #expect(authority.requests.isEmpty)
        #expect(try await stored().credentials.refreshToken == Secret("refresh-1"))
    }

    @Test func `Leaves room for new tokens after a change of the profile`() async throws {
        let store = try await store()
        let free = ArchivePropertyList.maximumByteCount - 8 * 1024
        await expectAccountError(.tooLarge) {
            try await store.update { $0.profile["avatar"] = .data(Data(count: free)) }
        }
        #expect(try await stored().profile["avatar"] == nil)
    }

    @Test func `Changes an archive that has no room for new tokens`() async throws {
        let store = try await store()
        try await fill(store) { account, room in account.profile["avatar"] = .data(Data(count: room)) }
        try await store.update { $0.profile["avatar"] = .data(Data(count: 1000 * 1024)) }
        try await store.update { $0.username = "bob" }
        #expect(try await stored().username == "bob")
    }

    @Test func `Stores a part of a profile that is too large at a sign-in`() async throws {
        let store = try await store()
        var account = Account.testing(at: clock.now)
        account.profile["avatar"] = .data(Data(count: 2 * 1024 * 1024))
        account.profile["city"] = "Oxford"
        let new = account
        try await store.signIn { new }
        #expect(try await stored().profile["city"] == "Oxford")
        #expect(try await stored().profile["avatar"] == nil)
    }
}
