import AccountKit

/// A storage with one entry of the revocation queue.
struct QueueReader: ArchiveStorage {
    let entry: ArchiveEntry
    let stored: StoredEntry

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { entry == self.entry ? stored : nil }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction { Transaction(reader: self) }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        throw AccountError(.busy, "only reads")
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream { $0.finish() }
    }

    private struct Transaction: ArchiveTransaction {
        let reader: QueueReader

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await reader.read(entry) }
        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {}
        func replace(
            _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
        ) async throws -> ArchiveReceipt { throw AccountError(.busy, "only reads") }
        func remove(
            _ entry: ArchiveEntry, ifRevision revision: ArchiveRevision
        ) async throws -> ArchiveReceipt.Durability { throw AccountError(.busy, "only reads") }
        func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String { "" }
        func restore(_ entry: ArchiveEntry, from place: String) async throws {}
        func end() async {}
    }
}

/// An entry of the revocation queue.
struct QueuedTokens {
    let account: Account
    let revocation: PendingRevocation

    var tokens: Tokens { account.tokens }
    var token: String { account.token }
    var waitsForSignOut: Bool { revocation.waitsForSignOut }
}

/// A storage that reads the disk without a turn.
struct DiskReader: ArchiveStorage {
    let world: World

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { world.entries[entry] }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        throw AccountError(.busy, "only reads")
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        throw AccountError(.busy, "only reads")
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream { $0.finish() }
    }
}

/// The result of a read.
final class Box: @unchecked Sendable {
    // @unchecked Sendable: as for `SimulatedProcess`.
    var account: Account?
    var revocation: PendingRevocation?
}
