import AccountKit
import AccountTesting
import Synchronization

/// A storage that never knows whether a change survives a power cut.
struct UnsureStorage: ArchiveStorage {
    let base = InMemoryArchiveStorage()

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await base.read(entry) }

    func beginTransaction(patience: Duration) async throws -> any ArchiveTransaction {
        Transaction(base: try await base.beginTransaction(patience: patience))
    }

    func changes(of entry: ArchiveEntry) -> AsyncStream<Void> { base.changes(of: entry) }

    private struct Transaction: ArchiveTransaction {
        let base: any ArchiveTransaction

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await base.read(entry) }

        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
            try await base.reserve(entry, byteCount: byteCount)
        }

        func replace(
            _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
        ) async throws -> ArchiveReceipt {
            var receipt = try await base.replace(entry, with: bytes, ifRevision: revision)
            receipt.durability = .unknown(reason: "the disk did not say")
            return receipt
        }

        func remove(
            _ entry: ArchiveEntry, ifRevision revision: ArchiveRevision
        ) async throws -> ArchiveReceipt.Durability {
            _ = try await base.remove(entry, ifRevision: revision)
            return .unknown(reason: "the disk did not say")
        }

        func setAside(_ entry: ArchiveEntry, label: String) async throws -> String {
            try await base.setAside(entry, label: label)
        }

        func putBack(_ entry: ArchiveEntry, from place: String) async throws {
            try await base.putBack(entry, from: place)
        }

        func end() async { await base.end() }
    }
}

/// A storage whose read without a lock stalls, when told so, with what it has read.
final class StallingStorage: ArchiveStorage {
    private struct State {
        var stalls = false
        var stalled: CheckedContinuation<Void, Never>?
        var onStall: CheckedContinuation<Void, Never>?
    }

    private let base: any ArchiveStorage
    private let state = Mutex(State())

    init(_ base: any ArchiveStorage) { self.base = base }

    func stallsNextRead() { state.withLock { $0.stalls = true } }

    func changes(of entry: ArchiveEntry) -> AsyncStream<Void> { base.changes(of: entry) }

    func waitForStall() async {
        await withCheckedContinuation { continuation in
            let isStalled = state.withLock { state in
                if state.stalled == nil { state.onStall = continuation }
                return state.stalled != nil
            }
            if isStalled { continuation.resume() }
        }
    }

    func release() { state.withLock { $0.stalled.take() }?.resume() }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        let stored = try await base.read(entry)
        let stalls = state.withLock { state in
            defer { state.stalls = false }
            return state.stalls
        }
        guard stalls else { return stored }
        await withCheckedContinuation { continuation in
            let watcher = state.withLock { state in
                state.stalled = continuation
                return state.onStall.take()
            }
            watcher?.resume()
        }
        return stored
    }

    func beginTransaction(patience: Duration) async throws -> any ArchiveTransaction {
        try await base.beginTransaction(patience: patience)
    }
}
