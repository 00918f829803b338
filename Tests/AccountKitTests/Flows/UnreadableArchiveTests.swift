import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct UnreadableArchiveTests {
    @Test func `Changes an unreadable archive only at a sign-in or sign-out`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.inMemory(signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
        let good = try #require(storage.entries[.account])
        var flipped = good.bytes
        flipped[flipped.count / 2] ^= 1
        var later = good.bytes
        later[try #require(later.firstRange(of: Array("ACCT\r\n\u{1A}\n".utf8))).upperBound] = 2
        for (bytes, code) in [
            (Array(good.bytes.dropLast()), AccountError.Code.damaged), ([], .damaged), (flipped, .wrongKeyOrDamaged),
            (later, .unsupportedVersion), (Array("{\"access_token\": 1}".utf8), .damaged),
            ([UInt8](repeating: 0, count: 1024 * 1024 + 1), .damaged),
        ] {
            storage.overwrite(.account, with: bytes)
            let before = storage.entries
            let store = try await AccountStore.inMemory(signedIn: nil, clock: clock, storage: storage)
            let authority = ScriptedAuthority(clock: clock)
            #expect(await store.load() == .unreadable(AccountError(code, "")))
            #expect(await store.checkSession(with: authority, timeout: nil) == .unreadable(AccountError(code, "")))
            await expectAccountError(code) { try await store.accessToken(timeout: nil, with: authority) }
            await expectAccountError(code) { try await store.refresh(with: authority) }
            await expectAccountError(code) { try await store.update { _ in } }
            #expect(storage.entries == before)
            #expect(authority.requests.isEmpty)

            try await store.signIn { .fresh(at: clock.now) }
            #expect(await store.load().text == "unverified access-1: notChecked")
            let aside = storage.entries.filter { $0.key.rawValue.hasPrefix("Account.plist.unreadable-") }
            #expect(aside.values.map(\.bytes) == [bytes])
            #expect(store.quarantinedArchive == aside.keys.first?.rawValue)
            for entry in aside.keys { storage.overwrite(entry, with: nil) }

            // AccountKit follows the user's decision and moves the archive aside.
            storage.overwrite(.account, with: bytes)
            storage.overwrite(.refreshRecord, with: [])
            let report = try await store.signOut(with: authority)
            #expect(report.account == nil)
            #expect(report.revocation == .notNeeded)
            let moved = try #require(report.quarantinedArchive)
            #expect(storage.entries[ArchiveEntry(rawValue: moved)]?.bytes == bytes)
            #expect(storage.entries[.account] == nil && storage.entries[.refreshRecord] == nil)
            #expect(store.account == nil)
            #expect(await store.load() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
            #expect(authority.requests.isEmpty, "the tokens are unreadable")
            storage.overwrite(ArchiveEntry(rawValue: moved), with: nil)
        }
    }

    @Test(arguments: Fixture.unreadable.filter { [.inaccessible, .insecureContainer].contains($0.code) })
    func `Fails a sign-out if the archive is inaccessible`(error: AccountError) async throws {
        let base = InMemoryArchiveStorage()
        _ = try await AccountStore.inMemory(signedIn: Fixture.alice, storage: base)
        let before = base.entries
        let store = try await AccountStore.inMemory(
            signedIn: nil,
            storage: HookedStorage(base: base, onRead: { entry in if entry == .account { throw error } }))
        await expectAccountError(error.code) { try await store.signOut(with: ScriptedAuthority()) }
        #expect(base.entries == before)
    }

    @Test func `Keeps the account in memory while the archive is unreadable`() async throws {
        let storage = InMemoryArchiveStorage()
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now), storage: storage)
        let good = storage.entries[.account]?.bytes
        storage.overwrite(.account, with: [1, 2, 3])
        #expect(await store.load().text == "unreadable: damaged")
        #expect(store.account?.username == "alice")
        storage.overwrite(.account, with: good)
        #expect(await store.load().text == "unverified access-1: notChecked")
    }

    @Test func `Loads, signs in and signs out despite an unreadable sign-out record`() async throws {
        let storage = HookedStorage(onRead: { entry in
            if entry == .signOut { throw AccountError(.damaged, "too large") }
        })
        let store = try await AccountStore.inMemory(signedIn: nil, storage: storage)
        #expect(await store.load() == .signedOut(.neverSignedIn))
        try await store.signIn { .fresh(at: ManualClock().now) }
        try await store.signOut()
        #expect(await store.load() == .signedOut(.neverSignedIn))
    }
}
