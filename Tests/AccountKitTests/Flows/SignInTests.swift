import AccountTesting
import Synchronization
import TestScene
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit

struct SignInTests {
    private let clock = ManualClock()

    private func store(
        signedIn account: Account?, _ storage: any ArchiveStorage
    ) async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: account, clock: clock, storage: storage)
    }

    @Test func `Replaces the stored account at a sign-in`() async throws {
        for before in [nil, Fixture.alice, Fixture.bob] {
            let storage = InMemoryArchiveStorage()
            let store = try await store(signedIn: before, storage)
            let generation = try storage.storedGeneration
            #expect(try await store.signIn { Fixture.alice } == Fixture.alice)
            #expect(try await storage.stateForNewProcess().account == Fixture.alice)
            let new = try #require(try storage.storedGeneration)
            #expect(new.generation == (generation?.generation ?? 0) + 1)
            if let generation { #expect(new.lineage == generation.lineage) }
        }
    }

    @Test func `Keeps the app's profile fields at a new sign-in of the same user`() async throws {
        var before = Fixture.alice
        before.profile = ["notes_theme": "dark", "name": "Old name"]
        let storage = InMemoryArchiveStorage()
        let store = try await store(signedIn: before, storage)
        var again = Fixture.alice
        again.profile = ["name": "New name"]
        let stored = try await store.signIn { again }
        #expect(stored.profile == ["notes_theme": "dark", "name": "New name"])
        #expect(try await storage.stateForNewProcess().account == stored)
        #expect(try await store.signIn { Fixture.bob }.profile == Fixture.bob.profile)
    }

    @Test(arguments: Fixture.unreadable.filter { !$0.isAboutContent })
    func `Does not replace an archive that became inaccessible at a sign-in`(
        error: AccountError
    ) async throws {
        let base = InMemoryArchiveStorage()
        let isOutOfReach = Switch()
        let storage = HookedStorage(
            base: base, onRead: { entry in if entry == .account, isOutOfReach.isOn { throw error } })
        let store = try await store(signedIn: Fixture.bob, storage)
        let before = base.entries
        await expectAccountError(error.code) {
            try await store.signIn {
                isOutOfReach.turnOn()
                return Fixture.alice
            }
        }
        #expect(base.entries == before)
    }

    @Test(arguments: Fixture.failures, [true, false])
    func `Restores a quarantined archive if the sign-in fails`(
        error: AccountError, failsTwice: Bool
    ) async throws {
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        base.overwrite(.account, with: [1, 2, 3])
        let store = try await store(signedIn: nil, storage)
        await expectAccountError(error.code) {
            try await store.signIn {
                storage.inject(.fails(error), of: .replace)
                // The account without its profile fields does not fit either.
                if error.code == .tooLarge { storage.inject(.fails(error), at: 2, of: .replace) }
                if failsTwice { storage.inject(.fails(error), of: .restore) }
                return Fixture.alice
            }
        }
        #expect(base.entries.values.map(\.bytes) == [[1, 2, 3]], "the unreadable archive was lost or changed")
        if !failsTwice { #expect(base.entries[.account] != nil) }
        #expect(store.quarantinedArchive == nil)
    }

    @Test(arguments: ["nobody", "bob", "damaged"])
    func `Changes nothing in a failed sign-in, whichever storage call fails`(before: String) async throws {
        func scene() async throws -> (InMemoryArchiveStorage, FaultyArchiveStorage, AccountStore) {
            let base = InMemoryArchiveStorage()
            if before == "bob" { _ = try await self.store(signedIn: Fixture.bob, base) }
            if before == "damaged" { base.overwrite(.account, with: [1, 2, 3]) }
            let storage = FaultyArchiveStorage(base)
            return (base, storage, try await self.store(signedIn: nil, storage))
        }
        let (_, whole, undisturbed) = try await scene()
        try await undisturbed.signIn { Fixture.alice }
        try #require(whole.callCount > 5)
        for number in 1...whole.callCount {
            for error in Fixture.failures {
                let (base, storage, store) = try await scene()
                let bytes = base.entries.mapValues(\.bytes)
                storage.inject(.fails(error), at: number)
                // The service can send the profile fields again.
                var reduced = Fixture.alice
                _ = reduced.makeRoom()
                do {
                    try await store.signIn { Fixture.alice }
                    let saved = try await base.stateForNewProcess().account
                    #expect(
                        saved == Fixture.alice || error.code == .tooLarge && saved == reduced, "call \(number)")
                } catch {
                    #expect(base.entries.mapValues(\.bytes) == bytes, "call \(number): \(error)")
                }
            }
        }
    }

    // MARK: Replacing a sign-in

    private static func by(issuer: String?, client: String?) -> Account {
        var account = Fixture.replaced
        account.issuer = issuer
        account.credentials.clientID = client
        return account
    }

    @Test(
        arguments: [
            // The new account, whether a revocation ends only its own grant, and whether the old tokens are queued:
            // `nil` if not, otherwise whether they wait for a sign-out.
            (Fixture.bob, false, false), (Fixture.bob, true, false),
            (by(issuer: "https://other.example.com", client: "test"), false, false),
            (by(issuer: nil, client: "test"), false, false),
            (by(issuer: "https://auth.example.com", client: "another"), false, false),
            (by(issuer: "https://auth.example.com", client: nil), false, false),
            (Fixture.replaced, true, false), (Fixture.replaced, false, true),
            // The accounts share a token.
            (Fixture.alice, true, nil),
            (Fixture.alice.with(token: "another", refreshToken: "refresh-1"), true, nil),
            (Fixture.alice.with(token: "access-1", refreshToken: nil), true, nil),
        ] as [(Account, Bool, Bool?)])
    func `Queues replaced tokens at a sign-in unless the new account shares them`(
        account: Account, supportsPerGrantRevocation: Bool, waitsForSignOut: Bool?
    ) async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await store(signedIn: Fixture.alice, storage)
        _ = try await store.flows.storeSignIn(account, supportsPerGrantRevocation: supportsPerGrantRevocation)
        let pending = await store.vault.revocations.readable()
        let queued = waitsForSignOut == nil ? [] : [Secret("refresh-1")]
        #expect(pending.map(\.payload.account.credentials.refreshToken) == queued)
        #expect(pending.first?.payload.waitsForSignOut == waitsForSignOut)
        #expect(try await storage.stateForNewProcess().account == account)
    }

    @Test func `Queues replaced tokens before storing the new account`() async throws {
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        let store = try await store(signedIn: Fixture.bob, storage)
        storage.inject(.stalls, at: 2, of: .replace)
        let signIn = Task { try await store.signIn { Fixture.alice } }
        await storage.waitForStall()
        // A crash here loses no tokens. The tokens are queued, and the tokens of the stored account are not revoked.
        #expect(try await base.stateForNewProcess().account == Fixture.bob)
        #expect(try await store.pendingRevocations().count == 1)
        storage.release()
        #expect(try await signIn.value == Fixture.alice)
        let authority = SteppedAuthority()
        #expect(await store.deliverRevocations { _ in authority }.map(\.outcome) == [.done])
        #expect(authority.revoked == ["bob-access"])
    }

    @Test func `Removes the queued tokens if the new account cannot be saved`() async throws {
        let base = InMemoryArchiveStorage()
        let storage = FaultyArchiveStorage(base)
        let store = try await store(signedIn: Fixture.bob, storage)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2, of: .replace)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signIn { Fixture.alice } }
        #expect(try await store.pendingRevocations().isEmpty)

        // Even if the removal from the queue fails, the stored account's tokens are not revoked.
        storage.inject(.fails(FaultyArchiveStorage.diskFull), at: 2, of: .replace)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .remove)
        await expectAccountError(FaultyArchiveStorage.diskFull.code) { try await store.signIn { Fixture.alice } }
        #expect(try await store.pendingRevocations().count == 1)
        let authority = SteppedAuthority(supportsPerGrantRevocation: true)
        #expect(await store.deliverRevocations { _ in authority }.isEmpty)
        #expect(authority.requests.isEmpty)
        #expect(try await store.pendingRevocations().isEmpty)
        #expect(try await base.stateForNewProcess().account == Fixture.bob)
    }

    @Test func `Signs in even if the disk is full for the revocation queue`() async throws {
        let storage = FaultyArchiveStorage()
        let store = try await store(signedIn: Fixture.bob, storage)
        storage.inject(.fails(FaultyArchiveStorage.diskFull), of: .replace)
        #expect(try await store.signIn { Fixture.alice } == Fixture.alice)
        #expect(try await store.pendingRevocations().isEmpty)
    }
}

/// A switch that is off until a test turns it on.
private final class Switch: Sendable {
    private let state = Mutex(false)

    var isOn: Bool { state.withLock { $0 } }

    func turnOn() { state.withLock { $0 = true } }
}
