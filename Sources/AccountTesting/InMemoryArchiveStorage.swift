package import AccountKit
import Synchronization

/// A storage in memory that meets all requirements of `ArchiveStorage` except durability across power cuts.
package final class InMemoryArchiveStorage: ArchiveStorage {
    fileprivate enum LockName: Hashable { case transaction, refresh }

    fileprivate struct Lock {
        var isHeld = false
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    fileprivate struct State {
        var entries: [ArchiveEntry: StoredEntry] = [:]
        var lastRevision: UInt64 = 0
        var locks: [LockName: Lock] = [.transaction: Lock(), .refresh: Lock()]
        var lastID: UInt64 = 0
        var listeners:
            [UInt64: (entry: ArchiveEntry, continuation: AsyncThrowingStream<Void, any Error>.Continuation)] = [:]
    }

    fileprivate let state = Mutex(State())

    package let sharedPlace: String?

    /// Creates an empty storage.
    ///
    /// - Parameter sharedPlace: The name of a storage that machines share, or `nil` for a storage of one machine.
    package init(sharedPlace: String? = nil) { self.sharedPlace = sharedPlace }

    /// All entries.
    package var entries: [ArchiveEntry: StoredEntry] { state.withLock { $0.entries } }

    /// Replaces the bytes of an entry without a lock or a revision, to simulate a fault or another program.
    package func overwrite(_ entry: ArchiveEntry, with bytes: [UInt8]?) {
        state.withLock { state in
            state.set(entry, bytes.map { StoredEntry(bytes: $0, revision: state.nextRevision()) })
        }
    }

    package func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        state.withLock { $0.entries[entry] }
    }

    /// Waits for exclusive access. Callers receive access in the order of their calls.
    package func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await wait(for: .transaction, timeout: timeout)
        return InMemoryTransaction(lock: HeldLock(.transaction, of: self))
    }

    /// Waits for the lease. Callers receive the lease in the order of their calls.
    package func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        try await wait(for: .refresh, timeout: timeout)
        return InMemoryLease(lock: HeldLock(.refresh, of: self))
    }

    private func wait(for name: LockName, timeout: Duration) async throws {
        let waiter = state.withLock { $0.nextID() }
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard join(waiter, name, continuation) else { return }
                timer = Task {
                    // A cancelled sleep ends immediately.
                    try? await Task.sleep(for: timeout)
                    leave(waiter, name)
                }
            }
        } onCancel: {
            leave(waiter, name)
        }
        guard isMine else {
            try Task.checkCancellation()
            throw AccountError(.busy, "the storage in memory has been in use for too long")
        }
    }

    package func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            let id = state.nextID()
            state.listeners[id] = (entry, continuation)
            return id
        }
        // Use a separate task, because a listener may be cancelled while it receives an element under the lock.
        continuation.onTermination = { [weak self] _ in
            Task { self?.state.withLock { state in state.listeners[id] = nil } }
        }
        return stream
    }

    /// Acquires the lock if it is free. Returns whether the caller must wait for the lock.
    private func join(_ waiter: UInt64, _ name: LockName, _ continuation: CheckedContinuation<Bool, Never>) -> Bool {
        let isMine: Bool? = state.withLock { state in
            if !state.locks[name]!.isHeld {
                state.locks[name]!.isHeld = true
                return true
            }
            if Task.isCancelled { return false }
            state.locks[name]!.waiters.append((waiter, continuation))
            return nil
        }
        if let isMine { continuation.resume(returning: isMine) }
        return isMine == nil
    }

    private func leave(_ waiter: UInt64, _ name: LockName) {
        let continuation = state.withLock { state in
            state.locks[name]!.waiters.firstIndex { $0.id == waiter }
                .map { state.locks[name]!.waiters.remove(at: $0).continuation }
        }
        continuation?.resume(returning: false)
    }

    fileprivate func unlock(_ name: LockName) {
        let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
            if state.locks[name]!.waiters.isEmpty {
                state.locks[name]!.isHeld = false
                return nil
            }
            return state.locks[name]!.waiters.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}

extension InMemoryArchiveStorage.State {
    mutating func nextRevision() -> ArchiveRevision {
        lastRevision += 1
        return ArchiveRevision(bytes: withUnsafeBytes(of: lastRevision.bigEndian) { Array($0) })
    }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func set(_ entry: ArchiveEntry, _ stored: StoredEntry?) {
        entries[entry] = stored
        for listener in listeners.values where listener.entry == entry { listener.continuation.yield() }
    }

    func check(_ entry: ArchiveEntry, _ revision: ArchiveRevision?) throws {
        guard entries[entry]?.revision == revision else {
            throw AccountError(.conflict, "another task changed \(entry.rawValue)")
        }
    }
}

private final class HeldLock: Sendable {
    let storage: InMemoryArchiveStorage
    private let name: InMemoryArchiveStorage.LockName
    private let hasEnded = Atomic(false)

    init(_ name: InMemoryArchiveStorage.LockName, of storage: InMemoryArchiveStorage) {
        self.name = name
        self.storage = storage
    }

    func end() {
        if !hasEnded.exchange(true, ordering: .relaxed) { storage.unlock(name) }
    }
}

private struct InMemoryTransaction: ArchiveTransaction {
    let lock: HeldLock
    private var storage: InMemoryArchiveStorage { lock.storage }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        try await storage.read(entry)
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {}

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        try storage.state.withLock { state in
            try state.check(entry, revision)
            let stored = StoredEntry(bytes: bytes, revision: state.nextRevision())
            state.set(entry, stored)
            return ArchiveReceipt(revision: stored.revision, durability: .durable)
        }
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        try storage.state.withLock { state in
            try state.check(entry, revision)
            state.set(entry, nil)
            return .durable
        }
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        storage.state.withLock { state in
            let aside = ArchiveEntry(rawValue: entry.rawValue + "." + label)
            state.set(aside, state.entries[entry])
            state.set(entry, nil)
            return aside.rawValue
        }
    }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {
        storage.state.withLock { state in
            guard state.entries[entry] == nil else { return }
            state.set(entry, state.entries.removeValue(forKey: ArchiveEntry(rawValue: place)))
        }
    }

    func end() async { lock.end() }
}

private struct InMemoryLease: ArchiveLease {
    let lock: HeldLock

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await lock.storage.beginTransaction(timeout: timeout)
    }

    func end() async { lock.end() }
}
