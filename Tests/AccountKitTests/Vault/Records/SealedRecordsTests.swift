import AccountTesting
import Testing

@testable import AccountKit

struct SealedRecordsTests {
    private let storage = InMemoryArchiveStorage()

    private func store() async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: Fixture.alice, clock: ManualClock(Fixture.now), storage: storage)
    }

    @Test func `Writes, reads and replaces a sealed record`() async throws {
        let records = try await store().vault.revocations.records
        let entry = records.entries[2]
        try await storage.withTransaction(timeout: .zero) { transaction in
            #expect(try await records.record(entry, { try await transaction.read($0) }) == nil)
            let first = try await records.write(
                QueuedRevocation(of: Fixture.bob, at: Fixture.now), to: entry, ifRevision: nil, at: Fixture.now,
                in: transaction)
            await expectAccountError(.conflict) {
                try await records.write(
                    first.payload, to: entry, ifRevision: nil, at: Fixture.now, in: transaction)
            }
            var read = try #require(try await records.record(entry) { try await transaction.read($0) })
            #expect(read.revision == first.revision)
            #expect(read.payload.account.credentials == Fixture.bob.credentials)
            read.payload.waitsForSignOut = true
            try await records.write(
                read.payload, to: entry, ifRevision: read.revision, with: read.keys, at: Fixture.now, in: transaction)
        }
        let stored = try #require(try await records.record(entry) { try await storage.read($0) })
        #expect(stored.payload.waitsForSignOut)
    }

    @Test func `Does not open a sealed record for another purpose`() async throws {
        let vault = try await store().vault
        let bytes = try await storage.withTransaction(timeout: .zero) { transaction in
            let queued = try await vault.revocations.add(Fixture.bob, at: Fixture.now, in: transaction)
            return try #require(try await transaction.read(queued.entry)).bytes
        }
        _ = try await vault.revocations.records.open(bytes)
        await expectAccountError(.wrongKeyOrDamaged) { try await vault.offlineKeys.records.open(bytes) }
    }

    @Test func `Keeps the secrets of a written record in one guarded allocation`() async throws {
        let vault = try await store().vault
        let queued = try await storage.withTransaction(timeout: .zero) { transaction in
            try await vault.revocations.add(GoldenEntry.account, at: Fixture.now, in: transaction)
        }
        let addresses = queued.payload.sealedSecrets.map { sealed in
            sealed.secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        // Each token begins eight bytes after the end of the one before.
        for (index, sealed) in queued.payload.sealedSecrets.enumerated().dropLast() {
            #expect(addresses[index + 1] == addresses[index] + UInt(sealed.secret.byteCount) + 8)
        }
    }
}
