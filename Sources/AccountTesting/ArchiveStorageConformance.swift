public import AccountKit
import Testing

/// The promises of `ArchiveStorage`, as tests that any implementation must pass.
///
/// ```swift
/// @Test func myStorageKeepsItsPromises() async throws {
///     try await ArchiveStorageConformance { MyStorage(folder: folder) }.run()
/// }
/// ```
public struct ArchiveStorageConformance: Sendable {
    private let open: @Sendable () throws -> any ArchiveStorage
    private let entry = ArchiveEntry.account

    /// - Parameter open: Opens the same storage each time, as several processes would; it is empty at first.
    public init(open: @escaping @Sendable () throws -> any ArchiveStorage) {
        self.open = open
    }

    /// Records an issue for each broken promise.
    public func run() async throws {
        try await absenceIsNoError()
        try await writesAreReadBackByEveryone()
        try await changesNameTheRevisionThatTheyReplace()
        try await reservingChangesNothing()
        try await thereIsOneTransactionAtATime()
        try await thereIsOneLeaseAtATime()
        try await whatIsReservedUnderALeaseStays()
        try await noUpdateIsLost()
        try await whatIsQuarantinedIsGoneFromItsPlace()
    }

    private func absenceIsNoError() async throws {
        expect(try await open().read(entry) == nil, "an empty storage has no entry")
    }

    private func writesAreReadBackByEveryone() async throws {
        let contents: [[UInt8]] = [[], [1, 2, 3], [UInt8](repeating: 0xA5, count: 1024 * 1024)]
        for bytes in contents {
            let receipt = try await change { transaction, current in
                try await transaction.replace(entry, with: bytes, ifRevision: current?.revision)
            }
            let stored = try #require(try await open().read(entry), "what was written can be read")
            expect(stored.bytes == bytes, "\(bytes.count) bytes come back as they were written")
            #expect(stored.revision == receipt.revision, "the receipt has the revision that a reader sees")
        }
        try await removeEntry()
        expect(try await open().read(entry) == nil, "a removed entry is gone")
    }

    private func changesNameTheRevisionThatTheyReplace() async throws {
        let first = try await change { transaction, _ in
            try await transaction.replace(entry, with: [1], ifRevision: nil).revision
        }
        let second = try await change { transaction, _ in
            try await transaction.replace(entry, with: [2], ifRevision: first).revision
        }
        #expect(first != second, "other bytes have another revision")
        for stale in [first, nil] {
            await expectConflict("a write in place of a revision that is not the stored one") { transaction in
                _ = try await transaction.replace(entry, with: [3], ifRevision: stale)
            }
        }
        await expectConflict("a removal of a revision that is not the stored one") { transaction in
            _ = try await transaction.remove(entry, ifRevision: first)
        }
        expect(try await open().read(entry)?.bytes == [2], "after a conflict the entry is as it was")
        try await removeEntry()
        await expectConflict("a write in place of an entry that is gone") { transaction in
            _ = try await transaction.replace(entry, with: [3], ifRevision: second)
        }
        let afterRemoval = try await change { transaction, _ in
            try await transaction.replace(entry, with: [4], ifRevision: nil).revision
        }
        #expect(![first, second].contains(afterRemoval), "nor is a revision used again after a removal")
        try await removeEntry()
    }

    private func reservingChangesNothing() async throws {
        try await change { transaction, _ in
            try await transaction.reserve(entry, byteCount: 64 * 1024)
            expect(try await transaction.read(entry) == nil, "a reservation is not an entry")
        }
        expect(try await open().read(entry) == nil, "a reservation that was not used leaves nothing")
        try await change { transaction, _ in
            try await transaction.reserve(entry, byteCount: 64 * 1024)
            _ = try await transaction.replace(entry, with: [4], ifRevision: nil)
        }
        expect(try await open().read(entry)?.bytes == [4], "what was reserved and not needed is not in the entry")
        try await removeEntry()
    }

    private func thereIsOneTransactionAtATime() async throws {
        let transaction = try await open().beginTransaction(timeout: .seconds(10))
        await expectAccountError(.busy, "a second transaction waits, and gives up in the end") {
            _ = try await open().beginTransaction(timeout: .zero)
        }
        await transaction.end()
        let next = try await open().beginTransaction(timeout: .seconds(10))
        await next.end()
        await next.end()
    }

    private func thereIsOneLeaseAtATime() async throws {
        let lease = try await open().acquireRefreshLease(timeout: .seconds(10))
        await expectAccountError(.busy, "a second lease is waited for, and given up in the end") {
            _ = try await open().acquireRefreshLease(timeout: .zero)
        }
        // A refresh that waits for its service does not delay a change.
        try await change { transaction, _ in _ = try await transaction.replace(entry, with: [7], ifRevision: nil) }
        try await removeEntry()
        let held = try await open().beginTransaction(timeout: .seconds(10))
        await expectAccountError(.busy, "the transactions of a lease wait for those of others") {
            _ = try await lease.beginTransaction(timeout: .zero)
        }
        await held.end()
        await lease.end()
        await lease.end()
        let next = try await open().acquireRefreshLease(timeout: .seconds(10))
        await next.end()
    }

    private func whatIsReservedUnderALeaseStays() async throws {
        let lease = try await open().acquireRefreshLease(timeout: .seconds(10))
        let first = try await lease.beginTransaction(timeout: .seconds(10))
        try await first.reserve(entry, byteCount: 64 * 1024)
        await first.end()
        expect(try await open().read(entry) == nil, "a reservation is not an entry")
        // Another transaction writes in between.
        let revision = try await change { transaction, _ in
            try await transaction.replace(entry, with: [8], ifRevision: nil).revision
        }
        let second = try await lease.beginTransaction(timeout: .seconds(10))
        _ = try await second.replace(entry, with: [9], ifRevision: revision)
        await second.end()
        await lease.end()
        expect(try await open().read(entry)?.bytes == [9], "what was reserved can be written in a later transaction")
        try await removeEntry()
    }

    private func noUpdateIsLost() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 {
                        try await change { transaction, current in
                            let count = current?.bytes.first ?? 0
                            _ = try await transaction.replace(entry, with: [count + 1], ifRevision: current?.revision)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        expect(try await open().read(entry)?.bytes == [80], "8 tasks that write lose no update")
        try await removeEntry()
    }

    private func whatIsQuarantinedIsGoneFromItsPlace() async throws {
        try await change { transaction, _ in
            _ = try await transaction.replace(entry, with: [5], ifRevision: nil)
            #expect(
                !(try await transaction.quarantine(entry, label: "unreadable").isEmpty),
                "it says where the entry is now")
        }
        expect(try await open().read(entry) == nil, "an entry that was quarantined is not there any more")
        try await change { transaction, _ in
            _ = try await transaction.replace(entry, with: [6], ifRevision: nil)
            try await transaction.restore(entry, from: try await transaction.quarantine(entry, label: "unreadable"))
        }
        expect(try await open().read(entry)?.bytes == [6], "an entry that was restored is what it was")
        try await removeEntry()
    }

    // MARK: Helpers

    @discardableResult
    private func change<Result: Sendable>(
        _ body: (any ArchiveTransaction, StoredEntry?) async throws -> Result
    ) async throws -> Result {
        // A storage does not promise an order, so on a slow disk one caller may wait for all others.
        let transaction = try await open().beginTransaction(timeout: .seconds(120))
        do {
            let result = try await body(transaction, try await transaction.read(entry))
            await transaction.end()
            return result
        } catch {
            await transaction.end()
            throw error
        }
    }

    private func removeEntry() async throws {
        try await change { transaction, current in
            guard let current else { return }
            _ = try await transaction.remove(entry, ifRevision: current.revision)
        }
    }

    /// Records an issue. The macro would print both sides, which may have a megabyte each.
    private func expect(
        _ isSo: Bool, _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(isSo, what, sourceLocation: sourceLocation)
    }

    private func expectConflict(_ what: Comment, _ body: (any ArchiveTransaction) async throws -> Void) async {
        await expectAccountError(.conflict, "\(what) is a conflict") {
            try await change { transaction, _ in try await body(transaction) }
        }
    }
}
