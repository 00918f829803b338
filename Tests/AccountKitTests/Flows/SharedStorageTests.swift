import AccountTesting
import Synchronization
import Testing

@testable import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A storage that is shared by several machines.
struct SharedStorageTests {
    private struct MissingKey: KeyProvider {
        var kind: KeyKind { .keyFile }
        func key() async throws -> ArchiveKey? { nil }
        func makeKey() async throws -> ArchiveKey { throw AccountError(.inaccessible, "this machine creates no key") }
    }

    /// A truncated key file.
    private struct DamagedKey: KeyProvider {
        var kind: KeyKind { .keyFile }
        func key() async throws -> ArchiveKey? { throw AccountError(.damaged, "the key file does not have 32 bytes") }
        func makeKey() async throws -> ArchiveKey { throw AccountError(.inaccessible, "this machine creates no key") }
    }

    /// A machine with a wrong key or archive.
    enum Flaw: CaseIterable, Sendable {
        case otherKey, noKey, cutOff, flipped, laterVersion, foreign

        var code: AccountError.Code {
            switch self {
            case .noKey: .noKey
            case .otherKey, .flipped: .wrongKeyOrDamaged
            case .laterVersion: .unsupportedVersion
            case .cutOff, .foreign: .damaged
            }
        }

        fileprivate var key: any KeyProvider {
            switch self {
            case .otherKey: TestKey(.keyFile, 8)
            case .noKey: MissingKey()
            default: InMemoryKey()
            }
        }

        fileprivate func bytes(of good: [UInt8]) throws -> [UInt8] {
            var bytes = good
            switch self {
            case .otherKey, .noKey: break
            case .cutOff: bytes.removeLast()
            case .flipped: bytes[bytes.count / 2] ^= 1
            case .laterVersion: bytes[try #require(good.firstRange(of: Array("ACCT\r\n\u{1A}\n".utf8))).upperBound] = 2
            case .foreign: bytes = Array("not ours".utf8)
            }
            return bytes
        }
    }

    private let clock = ManualClock()

    private func store(
        _ storage: any ArchiveStorage, key: any KeyProvider = InMemoryKey()
    ) -> AccountStore {
        AccountStore(storage: storage, appIdentifier: "testing", keys: [key], clock: clock)
    }

    /// A shared storage with alice's archive, and a store on it that cannot open the archive.
    private func scene(_ flaw: Flaw) async throws -> (InMemoryArchiveStorage, AccountStore) {
        let storage = InMemoryArchiveStorage(sharedPlace: "team")
        try await store(storage).signIn { .fresh(at: clock.now) }
        storage.overwrite(.account, with: try flaw.bytes(of: try #require(storage.entries[.account]?.bytes)))
        return (storage, store(storage, key: flaw.key))
    }

    // MARK: What a reader without the key sees

    @Test func `No entry of a shared storage shows a token, a name or a field`() async throws {
        let storage = InMemoryArchiveStorage(sharedPlace: "team")
        let store = store(storage)
        let authority = ScriptedAuthority(
            refresh: [.accept, .refuse(.unavailable(status: 503, retryAfter: nil))],
            revoke: [.refuse(.noResponse(.timeout))], clock: clock)
        var seen: Set<ArchiveEntry> = []
        func look(after step: String) {
            for (entry, stored) in storage.entries {
                seen.insert(entry)
                for text in ["canary", "access-2", "refresh-2", "derived-1"] {
                    #expect(
                        stored.bytes.firstRange(of: Array(text.utf8)) == nil, "\(entry) shows \(text) after \(step)")
                }
            }
        }
        var alice = Account.testing(id: "canary-id", at: clock.now)
        alice.username = "canary-name"
        alice.profile.nickname = "canary-nickname"
        alice.credentials.accessToken = Secret("canary-access")
        alice.credentials.refreshToken = Secret("canary-refresh")
        alice.credentials.idToken = Secret("canary-id-token")
        alice.credentials.clientSecret = .secret(Secret("canary-client"))
        try await store.signIn { [alice] in alice }
        look(after: "sign-in")
        try await store.refresh(with: authority)
        look(after: "refresh")
        _ = try await store.accessToken(for: TokenTarget(audience: "canary-api"), timeout: nil, with: authority)
        look(after: "derivation")
        _ = try await store.offlineKey()
        look(after: "offline key")
        await expectAccountError(.serviceUnavailable) { try await store.refresh(with: authority) }
        look(after: "failed refresh")
        _ = try await store.signOut(with: authority)
        look(after: "sign-out")
        #expect(seen.isSuperset(of: [.account, .refreshRecord, .signOut]), "\(seen)")
        #expect(seen.contains { $0.rawValue.hasPrefix("Revocation-") }, "\(seen)")
    }

    // MARK: The endpoint in the archive

    /// A service that records whether a refresh may use the stored token endpoint.
    private final class EndpointRecorder: AccountAuthority {
        var issuer: String? { nil }
        let hadEndpoint = Mutex<[Bool]>([])

        func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }
        func isAuthority(of account: Account) -> Bool { true }

        func refresh(_ account: Account) async throws -> Credentials {
            hadEndpoint.withLock { $0.append(account.credentials.tokenEndpoint != nil) }
            return account.credentials
        }
    }

    @Test(arguments: [nil, "team"])
    func `Only an archive on this machine names the token endpoint`(place: String?) async throws {
        let store = self.store(InMemoryArchiveStorage(sharedPlace: place))
        var account = Account.machine(at: clock.now)
        account.credentials.tokenEndpoint = TokenEndpoint(
            url: "https://login.example.com/token", expiresAt: clock.now.addingTimeInterval(60))
        try await store.signIn { account }
        let service = EndpointRecorder()
        try await store.refresh(with: service)
        #expect(service.hadEndpoint.withLock(\.self) == [place == nil])
    }

    // MARK: An archive that cannot be opened

    @Test(arguments: Flaw.allCases)
    func `Neither replaces nor removes a shared archive that cannot be opened`(flaw: Flaw) async throws {
        let (storage, store) = try await scene(flaw)
        let before = storage.entries
        let authority = ScriptedAuthority(clock: clock)
        await expectAccountError(flaw.code) { try await store.signIn { .fresh(at: clock.now) } }
        await expectAccountError(flaw.code) {
            try await store.signIn(username: "alice", password: Secret("password"), with: authority)
        }
        await expectAccountError(flaw.code) { try await store.signIn(token: Secret("token"), with: authority) }
        await expectAccountError(flaw.code) { try await store.signOut(with: authority) }
        await expectAccountError(flaw.code) { try await store.signOut() }
        await expectAccountError(flaw.code) { try await store.refresh(with: authority) }
        await expectAccountError(flaw.code) { try await store.update { _ in } }
        await expectAccountError(flaw.code) { try await store.removeKey("00") }
        #expect(await store.checkSession(with: authority, timeout: nil) == .unreadable(AccountError(flaw.code, "")))
        guard case .unreadable(let error) = await store.load() else {
            Issue.record("the archive is unreadable")
            return
        }
        #expect(!error.description.contains("sign in"), "\(error)")
        #expect(storage.entries == before)
        #expect(authority.requests.isEmpty, "no code is sent for a sign-in that cannot be stored")
    }

    @Test func `Does not replace an archive that became unreadable during a sign-in`() async throws {
        let storage = InMemoryArchiveStorage(sharedPlace: "team")
        let store = self.store(storage)
        let other = TestKey(.keyFile, 8)
        await expectAccountError(.wrongKeyOrDamaged) {
            try await store.signIn {
                // Another machine signs in first.
                try await self.store(storage, key: other).signIn { .fresh(at: clock.now) }
                return .fresh(at: clock.now)
            }
        }
        #expect(await self.store(storage, key: other).load().text == "unverified access-1: notChecked")
    }

    @Test(arguments: Flaw.allCases.filter { $0 != .noKey })
    func `Quarantines an unreadable archive at a sign-in with permission`(flaw: Flaw) async throws {
        let (storage, store) = try await scene(flaw)
        let before = try #require(storage.entries[.account])
        let permitted = store.replacingUnreadableArchive()
        try await permitted.signIn { .fresh(at: clock.now) }
        #expect(store.account?.username == "alice", "both stores have the same account")
        let place = try #require(store.quarantinedArchive)
        #expect(storage.entries[ArchiveEntry(rawValue: place)]?.bytes == before.bytes)
        #expect(await self.store(storage, key: flaw.key).load().text == "unverified access-1: notChecked")
    }

    @Test(arguments: Flaw.allCases)
    func `Quarantines an unreadable archive at a sign-out with permission`(flaw: Flaw) async throws {
        let (storage, store) = try await scene(flaw)
        let before = try #require(storage.entries[.account])
        let report = try await store.replacingUnreadableArchive().signOut()
        let place = try #require(report.quarantinedArchive)
        #expect(storage.entries[ArchiveEntry(rawValue: place)]?.bytes == before.bytes)
        #expect(await self.store(storage).load() == .signedOut(SignOut(.signedOutByUser, date: clock.now)))
    }

    @Test func `Reports an entry beside the account as intact if only the key is damaged`() async throws {
        let storage = InMemoryArchiveStorage(sharedPlace: "team")
        let signedIn = store(storage)
        try await signedIn.signIn { .fresh(at: clock.now) }
        try await signedIn.signOut(with: ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock))
        let unreadable = await store(storage, key: DamagedKey()).unreadableEntries()
        #expect(unreadable.map(\.entry.rawValue) == ["Revocation-1.plist"])
        #expect(unreadable.allSatisfy { !$0.isDamaged }, "the entry opens with the right key")
    }

    // MARK: The place

    @Test(arguments: [(nil, "team"), ("team", nil), ("team", "other")] as [(String?, String?)])
    func `Does not open an archive at another place`(place: String?, other: String?) async throws {
        let storage = InMemoryArchiveStorage(sharedPlace: place)
        try await store(storage).signIn { .fresh(at: clock.now) }
        let copy = InMemoryArchiveStorage(sharedPlace: other)
        copy.overwrite(.account, with: storage.entries[.account]?.bytes)
        #expect(await store(copy).load() == .unreadable(AccountError(.wrongKeyOrDamaged, "")))
    }

    @Test func `Does not open a queued revocation at another place`() async throws {
        let team = InMemoryArchiveStorage(sharedPlace: "team")
        let signedIn = store(team)
        try await signedIn.signIn { .fresh(at: clock.now) }
        try await signedIn.signOut(
            with: ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock))
        #expect(try await store(team).pendingRevocations().count == 1)
        let entry = ArchiveEntry(rawValue: "Revocation-1.plist")
        let other = InMemoryArchiveStorage(sharedPlace: "other")
        other.overwrite(entry, with: try #require(team.entries[entry]?.bytes))
        #expect(try await store(other).pendingRevocations().isEmpty)
    }

    @Test func `Keeps entries of a full queue if another machine may open the entries`() async throws {
        let clock = ManualClock()
        let storage = InMemoryArchiveStorage(sharedPlace: "team")
        let authority = ScriptedAuthority(revoke: [.refuse(.noResponse(.timeout))], clock: clock)
        func signOut(_ count: Int) async throws {
            for _ in 0..<count {
                let store = try await AccountStore.inMemory(
                    signedIn: .fresh(at: clock.now), clock: clock, storage: storage)
                _ = try await store.signOut(with: authority)
                clock.advance(by: .seconds(60))
            }
        }
        try await signOut(1)
        let foreign = try #require(storage.entries.keys.first { $0.rawValue.hasPrefix("Revocation") })
        storage.overwrite(foreign, with: [UInt8]("sealed with the key of another machine".utf8))
        try await signOut(9)
        #expect(storage.entries[foreign]?.bytes.count == 38)
        #expect(storage.entries.keys.count { $0.rawValue.hasPrefix("Revocation") } == 8)
    }
}
