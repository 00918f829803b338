import AccountKit
import AccountTesting
import Testing

struct ArchiveStorageConformanceTests {
    @Test func `The storage in memory keeps all promises`() async throws {
        let storage = InMemoryArchiveStorage()
        try await ArchiveStorageConformance { storage }.run()
        #expect(storage.entries.keys.allSatisfy { $0 != .account }, "the suite tidies up")
    }

    @Test func `A storage that stands before one that keeps them does so too`() async throws {
        let storage = FaultyArchiveStorage()
        try await ArchiveStorageConformance { storage }.run()
    }

    @Test(arguments: BrokenStorage.Promise.allCases)
    func `A storage that breaks a promise is caught`(promise: BrokenStorage.Promise) async {
        let storage = BrokenStorage(promise)
        await withKnownIssue { try await ArchiveStorageConformance { storage }.run() }
    }
}

/// A storage that keeps all promises but one.
struct BrokenStorage: ArchiveStorage {
    enum Promise: CaseIterable, Sendable {
        case absenceIsNoError, wholeBytes, revisionOfTheReceipt, revisionOfReplace, revisionOfRemove, removal
        case reservationsAreInvisible, exclusiveAccess, setAside, putBack
    }

    let promise: Promise
    let base = InMemoryArchiveStorage()

    init(_ promise: Promise) { self.promise = promise }

    func read(_ entry: ArchiveEntry) async throws -> StoredEntry? {
        guard let stored = try await base.read(entry) else {
            if promise == .absenceIsNoError { throw AccountError(.inaccessible, "there is nothing") }
            return nil
        }
        return promise == .wholeBytes
            ? StoredEntry(bytes: Array(stored.bytes.prefix(1000)), revision: stored.revision) : stored
    }

    func beginTransaction(patience: Duration) async throws -> any ArchiveTransaction {
        // Without exclusive access everyone has a memory of their own of who is at it.
        if promise == .exclusiveAccess { return Transaction(storage: self, base: nil) }
        return Transaction(storage: self, base: try await base.beginTransaction(patience: patience))
    }

    func changes(of entry: ArchiveEntry) -> AsyncThrowingStream<Void, any Error> { base.changes(of: entry) }

    struct Transaction: ArchiveTransaction {
        let storage: BrokenStorage
        let base: (any ArchiveTransaction)?

        func read(_ entry: ArchiveEntry) async throws -> StoredEntry? { try await storage.read(entry) }

        func reserve(_ entry: ArchiveEntry, byteCount: Int) async throws {
            if storage.promise == .reservationsAreInvisible {
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

        func setAside(_ entry: ArchiveEntry, label: String) async throws -> String {
            if storage.promise == .setAside { return "nowhere" }
            return try await base?.setAside(entry, label: label) ?? "nowhere"
        }

        func putBack(_ entry: ArchiveEntry, from place: String) async throws {
            if storage.promise != .putBack { try await base?.putBack(entry, from: place) }
        }

        func end() async { await base?.end() }
    }
}
