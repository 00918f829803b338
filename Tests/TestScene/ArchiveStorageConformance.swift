package import AccountKit
import AccountTesting
import Testing

/// The requirements of `ArchiveStorage`, as tests that every implementation must pass.
///
/// ```swift
/// @Test func myStorageKeepsItsPromises() async throws {
///     try await ArchiveStorageConformance { MyStorage(folder: folder) }.run()
/// }
/// ```
package struct ArchiveStorageConformance: Sendable {
    private let open: @Sendable () throws -> any ArchiveStorage
    private let entry = ArchiveEntry.account

    /// - Parameter open: A function that opens the same storage each time, as several processes would. The storage must
    ///   be empty at first.
    package init(open: @escaping @Sendable () throws -> any ArchiveStorage) {
        self.open = open
    }

    /// Records an issue for each violated requirement.
    package func run() async throws {
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
            let stored = try #require(try await open().read(entry), "an entry that was written can be read")
            expect(stored.bytes == bytes, "\(bytes.count) bytes are read as they were written")
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
        #expect(first != second, "different bytes have different revisions")
        for stale in [first, nil] {
            await expectConflict("a write that expects a revision other than the stored one") { transaction in
                _ = try await transaction.replace(entry, with: [3], ifRevision: stale)
            }
        }
        await expectConflict("a removal that expects a revision other than the stored one") { transaction in
            _ = try await transaction.remove(entry, ifRevision: first)
        }
        expect(try await open().read(entry)?.bytes == [2], "a conflict leaves the entry unchanged")
        try await removeEntry()
        await expectConflict("a write that expects an entry that was removed") { transaction in
            _ = try await transaction.replace(entry, with: [3], ifRevision: second)
        }
        let afterRemoval = try await change { transaction, _ in
            try await transaction.replace(entry, with: [4], ifRevision: nil).revision
        }
        #expect(![first, second].contains(afterRemoval), "a revision is not used again after a removal")
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
        expect(try await open().read(entry)?.bytes == [4], "unused reserved space is not part of the entry")
        try await removeEntry()
    }

    private func thereIsOneTransactionAtATime() async throws {
        try await open().withTransaction(timeout: .seconds(60)) { _ in
            _ = await expectAccountError(.busy, "a second transaction waits, and times out") {
                try await open().withTransaction(timeout: .zero) { _ in }
            }
        }
        // Ending twice is not an error.
        let next = try await open().beginTransaction(timeout: .seconds(60))
        await next.end()
        await next.end()
    }

    private func thereIsOneLeaseAtATime() async throws {
        let lease = try await open().acquireRefreshLease(timeout: .seconds(60))
        await expectAccountError(.busy, "a second lease waits, and times out") {
            try await open().withRefreshLease(timeout: .zero) { _ in }
        }
        // A refresh that waits for the service does not delay a change.
        try await change { transaction, _ in _ = try await transaction.replace(entry, with: [7], ifRevision: nil) }
        try await removeEntry()
        try await open().withTransaction(timeout: .seconds(60)) { _ in
            _ = await expectAccountError(.busy, "the transactions of a lease wait for those of others") {
                try await lease.withTransaction(timeout: .zero) { _ in }
            }
        }
        await lease.end()
        await lease.end()
        try await open().withRefreshLease(timeout: .seconds(60)) { _ in }
    }

    private func whatIsReservedUnderALeaseStays() async throws {
        try await open().withRefreshLease(timeout: .seconds(60)) { lease in
            try await lease.withTransaction(timeout: .seconds(60)) { transaction in
                try await transaction.reserve(entry, byteCount: 64 * 1024)
            }
            expect(try await open().read(entry) == nil, "a reservation is not an entry")
            // Another transaction writes in between.
            let revision = try await change { transaction, _ in
                try await transaction.replace(entry, with: [8], ifRevision: nil).revision
            }
            try await lease.withTransaction(timeout: .seconds(60)) { transaction in
                _ = try await transaction.replace(entry, with: [9], ifRevision: revision)
            }
        }
        expect(try await open().read(entry)?.bytes == [9], "reserved space can be used in a later transaction")
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
        expect(try await open().read(entry)?.bytes == [80], "8 concurrent writers lose no update")
        try await removeEntry()
    }

    private func whatIsQuarantinedIsGoneFromItsPlace() async throws {
        try await change { transaction, _ in
            _ = try await transaction.replace(entry, with: [5], ifRevision: nil)
            #expect(
                !(try await transaction.quarantine(entry, label: "unreadable").isEmpty),
                "quarantining returns the entry's new place")
        }
        expect(try await open().read(entry) == nil, "a quarantined entry is no longer in its place")
        try await change { transaction, _ in
            _ = try await transaction.replace(entry, with: [6], ifRevision: nil)
            try await transaction.restore(entry, from: try await transaction.quarantine(entry, label: "unreadable"))
        }
        expect(try await open().read(entry)?.bytes == [6], "a restored entry has its former bytes")
        try await removeEntry()
    }

    // MARK: Helpers

    @discardableResult
    private func change<Result: Sendable>(
        _ body: (any ArchiveTransaction, StoredEntry?) async throws -> Result
    ) async throws -> Result {
        // A storage guarantees no order, so on a slow disk one caller may wait for all others.
        try await open().withTransaction(timeout: .seconds(120)) { transaction in
            try await body(transaction, try await transaction.read(entry))
        }
    }

    private func removeEntry() async throws {
        try await change { transaction, current in
            guard let current else { return }
            _ = try await transaction.remove(entry, ifRevision: current.revision)
        }
    }

    /// Records an issue if the condition is false. Used directly, the macro would print both sides of the comparison,
    /// which may have a megabyte each.
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
