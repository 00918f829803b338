import AccountKit
import Synchronization

/// An archive in memory, for one task at a time.
final class MemoryStorage: ArchiveStorage, ArchiveLease, ArchiveTransaction {
    private let entries = Mutex<[ArchiveEntry: StoredEntry]>([:])
    private let writes = Mutex<UInt64>(0)

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { entries.withLock { $0[entry] } }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction { self }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease { self }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream { $0.finish() }
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {}

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        let number = writes.withLock { number in
            number += 1
            return number
        }
        let revision = ArchiveRevision(bytes: withUnsafeBytes(of: number) { Array($0) })
        entries.withLock { $0[entry] = StoredEntry(bytes: bytes, revision: revision) }
        return ArchiveReceipt(revision: revision, durability: .durable)
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        entries.withLock { $0[entry] = nil }
        return .durable
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String { label }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {}

    func end() async {}
}

/// A key source that always returns the same key.
struct MemoryKey: KeySource {
    var kind: KeyKind { .keyFile }

    func key() async throws -> ArchiveKey? { try ArchiveKey(bytes: [UInt8](repeating: 7, count: 32)) }

    func makeKey() async throws -> ArchiveKey { try ArchiveKey(bytes: [UInt8](repeating: 7, count: 32)) }
}
