import AccountKit
import AccountTesting
import Synchronization

/// A storage with hooks at some of its calls.
struct HookedStorage: ArchiveStorage {
    var base: any ArchiveStorage = InMemoryArchiveStorage()

    /// Called before an entry is read.
    var onRead: @Sendable (ArchiveEntry) async throws -> Void = { _ in }

    /// Called after an entry is read without the lock.
    var afterRead: @Sendable (ArchiveEntry) async -> Void = { _ in }

    /// Called after a listener is added.
    var onListen: @Sendable (ArchiveEntry) -> Void = { _ in }

    /// Called after a lease is released.
    var onLeaseEnd: @Sendable () async -> Void = {}

    /// Returns whether a lease lasts this long. Called immediately before a refresh token is sent.
    var onSending: @Sendable (Duration) async -> Bool = { _ in true }

    /// Returns whether a lease is still held. Called immediately before the first byte of a refresh token is sent.
    var onFirstByte: @Sendable (Duration) -> Bool = { _ in true }

    /// Called when a transaction announces a request.
    var onAnnouncement: @Sendable () -> Void = {}

    /// The reported durability of each change.
    var durability = ArchiveReceipt.Durability.durable

    /// The changes to report in place of those of the storage.
    var changes: AsyncThrowingStream<Void, any Error>?

    var sharedPlace: String? { base.sharedPlace }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        try await onRead(entry)
        let stored = try await base.read(entry)
        await afterRead(entry)
        return stored
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        Transaction(hooks: self, base: try await base.beginTransaction(timeout: timeout))
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        Lease(hooks: self, base: try await base.acquireRefreshLease(timeout: timeout))
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> {
        let stream = changes ?? base.changes(of: entry)
        onListen(entry)
        return stream
    }

    private struct Lease: ArchiveLease {
        let hooks: HookedStorage
        let base: any ArchiveLease

        func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
            Transaction(hooks: hooks, base: try await base.beginTransaction(timeout: timeout))
        }

        func permit(for duration: Duration) async -> (@Sendable () -> Bool)? {
            guard await hooks.onSending(duration) else { return nil }
            return { hooks.onFirstByte(duration) }
        }

        func renewed(timeout: Duration) async throws -> any ArchiveLease {
            if await hooks.onSending(.zero) { return self }
            await end()
            return try await hooks.acquireRefreshLease(timeout: timeout)
        }

        func end() async {
            await base.end()
            await hooks.onLeaseEnd()
        }
    }

    private struct Transaction: ArchiveTransaction {
        let hooks: HookedStorage
        let base: any ArchiveTransaction

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
            try await hooks.onRead(entry)
            return try await base.read(entry)
        }

        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
            try await base.reserve(entry, byteCount: byteCount)
        }

        func announceRequest() {
            hooks.onAnnouncement()
            base.announceRequest()
        }

        func replace(
            _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
        ) async throws -> ArchiveReceipt {
            var receipt = try await base.replace(entry, with: bytes, ifRevision: revision)
            receipt.durability = hooks.durability
            return receipt
        }

        func remove(
            _ entry: ArchiveEntry, ifRevision revision: ArchiveRevision
        ) async throws -> ArchiveReceipt.Durability {
            _ = try await base.remove(entry, ifRevision: revision)
            return hooks.durability
        }

        func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
            try await base.quarantine(entry, label: label)
        }

        func restore(_ entry: ArchiveEntry, from place: String) async throws {
            try await base.restore(entry, from: place)
        }

        func end() async { await base.end() }
    }
}

/// A gate at which tasks wait while it is shut.
final class Gate: Sendable {
    private struct State {
        var isShut = false
        var waiting: CheckedContinuation<Void, Never>?
        var onWait: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Makes the next task wait.
    func shut() { state.withLock { $0.isShut = true } }

    /// Waits if the gate is shut.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (isShut, watcher) = state.withLock { state in
                defer { state.isShut = false }
                if state.isShut { state.waiting = continuation }
                return (state.isShut, state.isShut ? state.onWait.take() : nil)
            }
            if !isShut { continuation.resume() }
            watcher?.resume()
        }
    }

    /// Waits until a task waits at the gate.
    func waitForSomebody() async {
        await withCheckedContinuation { continuation in
            let isSomebodyThere = state.withLock { state in
                if state.waiting == nil { state.onWait = continuation }
                return state.waiting != nil
            }
            if isSomebodyThere { continuation.resume() }
        }
    }

    /// Lets the waiting task continue.
    func open() { state.withLock { $0.waiting.take() }?.resume() }
}
