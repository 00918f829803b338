import AccountKit
import AccountTesting
import TestScene
import Testing

struct ArchiveStorageConformanceTests {
    @Test func `Meets all storage requirements with the in-memory storage`() async throws {
        let storage = InMemoryArchiveStorage()
        try await ArchiveStorageConformance { storage }.run()
        #expect(storage.entries.keys.allSatisfy { $0 != .account }, "the suite removes its entries")
    }

    @Test func `FaultyArchiveStorage without faults meets all storage requirements`() async throws {
        let storage = FaultyArchiveStorage()
        try await ArchiveStorageConformance { storage }.run()
    }

    @Test(arguments: BrokenStorage.Promise.allCases)
    func `Detects a storage that violates one of the storage requirements`(promise: BrokenStorage.Promise) async {
        let storage = BrokenStorage(promise)
        await withKnownIssue { try await ArchiveStorageConformance { storage }.run() }
    }
}

/// A storage that violates one requirement.
struct BrokenStorage: ArchiveStorage {
    enum Promise: CaseIterable, Sendable {
        case absenceIsNoError, wholeBytes, revisionOfTheReceipt, revisionOfReplace, revisionOfRemove, removal
        case reservationsAreInvisible, exclusiveAccess, quarantine, restore
        case oneLease, leaseOfItsOwn, transactionsOfALease, leaseThatEnds, reservationsOfALease
    }

    let promise: Promise
    let base = InMemoryArchiveStorage()

    init(_ promise: Promise) { self.promise = promise }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        guard let stored = try await base.read(entry) else {
            if promise == .absenceIsNoError { throw AccountError(.inaccessible, "the entry is missing") }
            return nil
        }
        return promise == .wholeBytes
            ? StoredEntry(bytes: Array(stored.bytes.prefix(1000)), revision: stored.revision) : stored
    }

    func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
        // Without exclusive access, each transaction is independent.
        if promise == .exclusiveAccess { return Transaction(storage: self, base: nil) }
        // Do not wait for a lock that is never released.
        let timeout = promise == .leaseOfItsOwn ? .zero : timeout
        return Transaction(storage: self, base: try await base.beginTransaction(timeout: timeout))
    }

    func acquireRefreshLease(timeout: Duration) async throws -> any ArchiveLease {
        switch promise {
        // Every caller acquires the lease.
        case .oneLease: Lease(storage: self, base: nil, lock: nil)
        // The lease and the lock are the same, so other processes wait during a request.
        case .leaseOfItsOwn:
            Lease(storage: self, base: nil, lock: try await base.beginTransaction(timeout: .zero))
        case .leaseThatEnds: Lease(storage: self, base: try await base.acquireRefreshLease(timeout: .zero), lock: nil)
        default: Lease(storage: self, base: try await base.acquireRefreshLease(timeout: timeout), lock: nil)
        }
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { base.changes(of: entry) }

    struct Lease: ArchiveLease {
        let storage: BrokenStorage
        let base: (any ArchiveLease)?
        let lock: (any ArchiveTransaction)?

        func beginTransaction(timeout: Duration) async throws -> any ArchiveTransaction {
            if [.transactionsOfALease, .exclusiveAccess].contains(storage.promise) {
                return Transaction(storage: storage, base: nil)
            }
            guard let base else {
                return Transaction(storage: storage, base: try await storage.base.beginTransaction(timeout: timeout))
            }
            return Transaction(
                storage: storage, base: try await base.beginTransaction(timeout: timeout), isLeased: true)
        }

        func end() async {
            await lock?.end()
            if storage.promise != .leaseThatEnds { await base?.end() }
        }
    }

    struct Transaction: ArchiveTransaction {
        let storage: BrokenStorage
        let base: (any ArchiveTransaction)?
        var isLeased = false

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await storage.read(entry) }

        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
            if storage.promise == .reservationsAreInvisible || storage.promise == .reservationsOfALease && isLeased {
                storage.base.overwrite(entry, with: [UInt8](repeating: 0, count: byteCount))
            }
        }

        func replace(
            _ entry: ArchiveEntry, with bytes: [UInt8], ifRevision revision: ArchiveRevision?
        ) async throws -> ArchiveReceipt {
            guard let base else {
                storage.base.overwrite(entry, with: bytes)
                return ArchiveReceipt(revision: storage.base.entries[entry]!.revision, durability: .durable)
            }
            let current = storage.promise == .revisionOfReplace ? storage.base.entries[entry]?.revision : revision
            var receipt = try await base.replace(entry, with: bytes, ifRevision: current)
            if storage.promise == .revisionOfTheReceipt { receipt.revision = ArchiveRevision(bytes: [0]) }
            return receipt
        }

        func remove(
            _ entry: ArchiveEntry, ifRevision revision: ArchiveRevision
        ) async throws -> ArchiveReceipt.Durability {
            if storage.promise == .removal { return .durable }
            let current = storage.promise == .revisionOfRemove ? storage.base.entries[entry]?.revision : nil
            guard let base else {
                storage.base.overwrite(entry, with: nil)
                return .durable
            }
            return try await base.remove(entry, ifRevision: current ?? revision)
        }

        func quarantine(_ entry: ArchiveEntry, label: String) async throws -> String {
            if storage.promise == .quarantine { return "nowhere" }
            return try await base?.quarantine(entry, label: label) ?? "nowhere"
        }

        func restore(_ entry: ArchiveEntry, from place: String) async throws {
            if storage.promise != .restore { try await base?.restore(entry, from: place) }
        }

        func end() async { await base?.end() }
    }
}
