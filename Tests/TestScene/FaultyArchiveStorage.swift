package import AccountKit
import AccountTesting
import Synchronization

/// A storage that wraps another storage, and makes calls fail or stall on request.
package final class FaultyArchiveStorage: ArchiveStorage {
    /// A call to a storage or its transaction.
    package enum Call: Sendable, Hashable, CaseIterable {
        case read, begin, lease, reserve, replace, remove, quarantine, restore
    }

    /// A fault to inject into a call.
    package enum Fault: Sendable {
        /// The call fails without an effect.
        case fails(AccountError)

        /// The call waits until ``FaultyArchiveStorage/release()``, and then continues.
        case stalls
    }

    private struct State {
        var faults: [(call: Call?, at: Int, fault: Fault)] = []
        var counts: [Call: Int] = [:]
        var total = 0
        var stalled: [CheckedContinuation<Void, Never>] = []
        var onStall: [CheckedContinuation<Void, Never>] = []
    }

    private let base: any ArchiveStorage
    private let state = Mutex(State())

    /// Creates a storage that wraps `base`.
    package init(_ base: any ArchiveStorage = InMemoryArchiveStorage()) { self.base = base }

    /// The name of the wrapped storage if several machines share it; otherwise `nil`.
    package var sharedPlace: String? { base.sharedPlace }

    /// The error that the file storage throws if the disk is full.
    package static var diskFull: AccountError {
        AccountError(.inaccessible, "the archive cannot be saved: no space left on device")
    }

    /// Makes a later call fail or stall.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - number: The number of the call. 1 is the next call.
    ///   - call: The kind of calls to count, or `nil` to count calls of any kind.
    package func inject(_ fault: Fault, at number: Int = 1, of call: Call? = nil) {
        state.withLock { state in
            let done = call.map { state.counts[$0, default: 0] } ?? state.total
            state.faults.append((call, done + number, fault))
        }
    }

    /// The number of calls of all kinds.
    package var callCount: Int { state.withLock { $0.total } }

    /// Waits until a call stalls.
    package func waitForStall() async {
        await withCheckedContinuation { continuation in
            let isStalled = state.withLock { state in
                if state.stalled.isEmpty { state.onStall.append(continuation) }
                return !state.stalled.isEmpty
            }
            if isStalled { continuation.resume() }
        }
    }

    /// Continues all stalled calls.
    package func release() {
        let stalled = state.withLock { state in
            defer { state.stalled = [] }
            return state.stalled
        }
        for continuation in stalled { continuation.resume() }
    }

    /// Reads an entry, or throws an injected error.
    package func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        try await pass(.read)
        return try await base.read(entry)
    }

    /// Waits for exclusive access, or throws an injected error.
    package func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await pass(.begin)
        return FaultyTransaction(base: try await base.beginTransaction(timeout: timeout), storage: self)
    }

    /// Waits for the lease, or throws an injected error.
    package func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        try await pass(.lease)
        return FaultyLease(base: try await base.acquireRefreshLease(timeout: timeout), storage: self)
    }

    /// Returns the changes of the wrapped storage.
    package func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { base.changes(of: entry) }

    fileprivate func pass(_ call: Call) async throws {
        let fault: Fault? = state.withLock { state in
            state.total += 1
            state.counts[call, default: 0] += 1
            let index = state.faults.firstIndex { fault in
                fault.call == nil ? fault.at == state.total : fault.call == call && fault.at == state.counts[call]
            }
            return index.map { state.faults.remove(at: $0).fault }
        }
        switch fault {
        case nil: break
        case .fails(let error): throw error
        case .stalls:
            await withCheckedContinuation { continuation in
                let watchers = state.withLock { state in
                    state.stalled.append(continuation)
                    defer { state.onStall = [] }
                    return state.onStall
                }
                for watcher in watchers { watcher.resume() }
            }
        }
    }
}

private struct FaultyLease: ArchiveLease {
    let base: any ArchiveLease
    let storage: FaultyArchiveStorage

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        try await storage.pass(.begin)
        return FaultyTransaction(base: try await base.beginTransaction(timeout: timeout), storage: storage)
    }

    func permit(for duration: Duration) async -> (@Sendable () -> Bool)? { await base.permit(for: duration) }

    func renewed(timeout: Duration) async throws -> any ArchiveLease {
        FaultyLease(base: try await base.renewed(timeout: timeout), storage: storage)
    }

    func end() async { await base.end() }
}

private struct FaultyTransaction: ArchiveTransaction {
    let base: any ArchiveTransaction
    let storage: FaultyArchiveStorage

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        try await storage.pass(.read)
        return try await base.read(entry)
    }

    func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
        try await storage.pass(.reserve)
        try await base.reserve(entry, byteCount: byteCount)
    }

    func announceRequest() { base.announceRequest() }

    func replace(
        _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
    ) async throws -> ArchiveReceipt {
        try await storage.pass(.replace)
        return try await base.replace(entry, with: bytes, ifRevision: revision)
    }

    func remove(_ entry: ArchiveEntry, ifRevision revision: ArchiveRevision) async throws -> ArchiveReceipt.Durability {
        try await storage.pass(.remove)
        return try await base.remove(entry, ifRevision: revision)
    }

    func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
        try await storage.pass(.quarantine)
        return try await base.quarantine(entry, label: label)
    }

    func finishQuarantine(_ entry: ArchiveEntry) async throws -> ArchiveReceipt.Durability {
        try await base.finishQuarantine(entry)
    }

    func restore(_ entry: ArchiveEntry, from place: String) async throws {
        try await storage.pass(.restore)
        try await base.restore(entry, from: place)
    }

    func end() async { await base.end() }
}
