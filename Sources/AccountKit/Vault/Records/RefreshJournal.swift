import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads and writes the record of a refresh under the lock; see ``RefreshRecord``.
struct RefreshJournal: Sendable {
    let storage: any ArchiveStorage
    var logger: Logger?

    func record() async throws -> RefreshRecord? {
        try await storage.read(.refreshRecord).flatMap { RefreshRecord.decode($0.bytes) }
    }

    /// Returns the record; `nil` if there is none, or if it cannot be read. An unreadable record is ignored, because it
    /// could only delay a refresh.
    func readableRecord() async -> RefreshRecord? { try? await record() }

    func record(in transaction: any ArchiveTransaction) async throws -> RefreshRecord? {
        try await stored(in: transaction).flatMap { RefreshRecord.decode($0.bytes) }
    }

    /// Returns the stored entry. Moves aside an entry that is not a record, since it would block every refresh. Throws
    /// any other error, since there may be a record according to which the refresh token may be spent.
    private func stored(in transaction: any ArchiveTransaction) async throws -> StoredEntry? {
        do {
            return try await transaction.read(.refreshRecord)
        } catch let reason as AccountError where reason.isAboutEntry {
            do {
                try await transaction.quarantineLeftover(.refreshRecord, because: reason, logger)
            } catch is AccountError {
                // The storage is unreachable.
                throw reason
            }
            return nil
        }
    }

    /// Records that the refresh token is about to be spent, so that the next refresh detects a crash before the
    /// response is stored. Returns the date of an earlier request whose response was never stored. If there is such a
    /// date, it stays in the record.
    func recordIntent(at date: Date, in transaction: any ArchiveTransaction) async throws -> Date? {
        transaction.announceRequest()
        return try await change(in: transaction) { record in
            let unfinished = record.date
            record.date = unfinished ?? date
            return unfinished
        }
    }

    /// - Parameter mayBeSpent: Whether this or an earlier refresh may have spent the refresh token.
    func recordFailure(
        _ reason: UnverifiedReason, mayBeSpent: Bool, at date: Date, in transaction: any ArchiveTransaction
    ) async throws {
        try await change(in: transaction) { record in
            if !mayBeSpent { record.date = nil }
            record.fail(reason, at: date, jitter: .random(in: 0.5...1))
        }
    }

    func forget(in transaction: any ArchiveTransaction) async throws {
        guard let revision = try await stored(in: transaction)?.revision else { return }
        _ = try await transaction.remove(.refreshRecord, ifRevision: revision)
    }

    private func change<Value>(
        in transaction: any ArchiveTransaction, _ body: (inout RefreshRecord) -> Value
    ) async throws -> Value {
        let previous = try await stored(in: transaction)
        var record = previous.flatMap { RefreshRecord.decode($0.bytes) } ?? RefreshRecord()
        let value = body(&record)
        _ = try await transaction.replace(.refreshRecord, with: try record.encode(), ifRevision: previous?.revision)
        return value
    }
}
