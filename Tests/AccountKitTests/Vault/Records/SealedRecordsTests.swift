import AccountTesting
import Testing

@testable import AccountKit

struct SealedRecordsTests {
    private let storage = InMemoryArchiveStorage()

    private func store() async throws -> AccountStore {
        try await AccountStore.inMemory(signedIn: Fixture.alice, clock: ManualClock(Fixture.now), storage: storage)
    }

    @Test func `Writes, reads and replaces a sealed record`() async throws {
        let vault = try await store().vault
        let entry = ArchiveEntry.revocations[2]
        try await vault.change { draft in
            let records = draft.revocations
            #expect(try await records.record(entry) == nil)
            let first = try await records.write(
                QueuedRevocation(of: Fixture.bob, at: Fixture.now), to: entry, ifRevision: nil)
            await expectAccountError(.conflict) {
                try await records.write(first.payload, to: entry, ifRevision: nil)
            }
            var read = try #require(try await records.record(entry))
            #expect(read.revision == first.revision)
            #expect(read.payload.account.credentials == Fixture.bob.credentials)
            read.payload.waitsForSignOut = true
            try await records.write(read.payload, to: entry, ifRevision: read.revision, with: read.keys)
        }
        let stored = try #require(try await vault.revocations.record(entry))
        #expect(stored.payload.waitsForSignOut)
    }

    @Test func `Does not open a sealed record for another purpose`() async throws {
        let vault = try await store().vault
        let bytes = try await vault.change { draft in
            let queued = try await draft.revocations.add(Fixture.bob)
            return try #require(try await draft.revocations.stored(queued.entry)).bytes
        }
        _ = try await vault.revocations.open(bytes)
        await expectAccountError(.wrongKeyOrDamaged) { try await vault.offlineKeys.open(bytes) }
    }

    @Test func `Keeps the secrets of a written record in one guarded allocation`() async throws {
        let vault = try await store().vault
        let queued = try await vault.change { try await $0.revocations.add(GoldenEntry.account) }
        let addresses = queued.payload.sealedSecrets.map { sealed in
            sealed.secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        // Each token begins eight bytes after the end of the one before.
        for (index, sealed) in queued.payload.sealedSecrets.enumerated().dropLast() {
            #expect(addresses[index + 1] == addresses[index] + UInt(sealed.secret.byteCount) + 8)
        }
    }
}
