import AccountCrypto
import AccountTesting
import Testing

@testable import AccountKit

struct StoredOfflineKeyTests {
    private let clock = ManualClock(Fixture.now)
    private let storage = InMemoryArchiveStorage()
    private let entry = ArchiveEntry(rawValue: "Offline-1.plist")

    private static let keys = [false, true].map { isSigningOut in
        var key = StoredOfflineKey(
            Secret(GuardedBytes.random(count: 32), range: 0..<32), of: Fixture.alice, createdAt: Fixture.now)
        key.isSigningOut = isSigningOut
        return key
    }

    @Test(arguments: keys) func `Encodes and decodes a stored offline key without changes`(key: StoredOfflineKey) throws
    {
        let decoded = try key.decoded(as: StoredOfflineKey.self)
        #expect(decoded.isSame(as: key))
        #expect(decoded.owner == Fixture.alice.owner)
        #expect(decoded.createdAt == key.createdAt)
        #expect(decoded.isSigningOut == key.isSigningOut)
    }

    @Test(arguments: keys) func `Does not write the offline key in the record`(key: StoredOfflineKey) throws {
        let record = try key.recordSection
        #expect(record.starts(with: "bplist00".utf8))
        let isContained = key.key.withUnsafeBytes { bytes in
            (0...24).contains { record.firstRange(of: bytes[$0..<$0 + 8]) != nil }
        }
        #expect(!isContained)
    }

    @Test func `Rejects an account or an offline key without exactly one secret`() throws {
        let key = Self.keys[0]
        for record in [Fixture.alice.sealedRecord, key.sealedRecord] {
            for secrets in [[], Fixture.alice.sealedSecrets, [SealedSecret(.refreshToken, key.key)]] {
                #expect(throws: RecordPropertyList.Malformed.self) {
                    try StoredOfflineKey(record: record, secrets: secrets)
                }
            }
        }
        #expect(throws: RecordPropertyList.Malformed.self) {
            try StoredOfflineKey(record: Fixture.alice.sealedRecord, secrets: key.sealedSecrets)
        }
        #expect(try StoredOfflineKey(record: key.sealedRecord, secrets: key.sealedSecrets).isSame(as: key))
    }

    // MARK: Golden entries

    private func store(with golden: GoldenEntry) async throws -> AccountStore {
        storage.overwrite(entry, with: try golden.bytes)
        return try await AccountStore.inMemory(signedIn: Fixture.alice, clock: clock, storage: storage)
    }

    @Test func `Uses the golden offline key after a change of archive keys`() async throws {
        let store = try await store(with: .offlineKey)
        let key = try await store.offlineKey()
        #expect(key.record.payload.key.fingerprint == GoldenEntry.fingerprint)
        #expect(key.record.payload.createdAt == Fixture.now)
        let slots = try await store.keySlots()
        try await store.addKey(from: TestKey(.command, 2))
        let both = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [InMemoryKey(), TestKey(.command, 2)], clock: clock)
        try await both.removeKey(try #require(slots.first).id)
        let second = AccountStore(
            storage: storage, appIdentifier: "testing", keys: [TestKey(.command, 2)], clock: clock)
        #expect(try await second.offlineKey().record.payload.key.fingerprint == GoldenEntry.fingerprint)
        #expect(try await second.isCurrent(key))
    }

    @Test func `Removes the golden offline key on sign-out`() async throws {
        let store = try await store(with: .offlineKey)
        try await store.signOut()
        #expect(storage.entries[entry] == nil)
    }

    @Test func `Removes the golden marked offline key at a sign-in`() async throws {
        let store = try await store(with: .offlineKeyOfSignOut)
        #expect(storage.entries[entry] == nil)
        #expect(try await store.offlineKey().record.payload.key.fingerprint != GoldenEntry.fingerprint)
    }

    @Test func `Removes the golden sign-out mark if the sign-out failed`() async throws {
        let store = try await AccountStore.inMemory(signedIn: Fixture.alice, clock: clock, storage: storage)
        storage.overwrite(entry, with: try GoldenEntry.offlineKeyOfSignOut.bytes)
        let key = try await store.offlineKey().record.payload
        #expect(key.key.fingerprint == GoldenEntry.fingerprint)
        #expect(!key.isSigningOut)
    }
}
