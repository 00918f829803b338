import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is written down of refreshes, for whoever holds the lock; see ``RefreshRecord``.
struct RefreshJournal: Sendable {
    let storage: any ArchiveStorage
    var logger: Logger?

    func record() async throws -> RefreshRecord? {
        try await storage.read(.refreshRecord).flatMap { RefreshRecord.decode($0.bytes) }
    }

    /// For whoever wants to know whether to leave the service alone.
    ///
    /// - Returns: `nil` also for a record that cannot be read: it would only have put a refresh off.
    func readableRecord() async -> RefreshRecord? { try? await record() }

    func record(in transaction: any ArchiveTransaction) async throws -> RefreshRecord? {
        try await stored(in: transaction).flatMap { RefreshRecord.decode($0.bytes) }
    }

    /// The stored record. If its place holds something that is not a record, that is moved aside, since it would block every
    /// refresh. After any other error the record may be there, and say that the refresh token may be spent.
    private func stored(in transaction: any ArchiveTransaction) async throws -> StoredEntry? {
        do {
            return try await transaction.read(.refreshRecord)
        } catch let reason as AccountError where reason.isAboutEntry {
            do {
                try await transaction.quarantineLeftover(.refreshRecord, because: reason, logger)
            } catch is AccountError {
                // The storage cannot be reached.
                throw reason
            }
            return nil
        }
    }

    /// Records that the refresh token is about to be spent, so that a crash before the response is stored can be told.
    ///
    /// - Returns: When one was sent before whose response was never stored; then that stays the date of the record.
    func recordIntent(at date: Date, in transaction: any ArchiveTransaction) async throws -> Date? {
        try await change(in: transaction) { record in
            let unfinished = record.date
            record.date = unfinished ?? date
            return unfinished
        }
    }

    /// - Parameter mayBeSpent: Whether the refresh token may have been spent for this refresh, or for one before.
    func recordFailure(
        _ reason: UnverifiedReason, mayBeSpent: Bool, at date: Date, in transaction: any ArchiveTransaction
    ) async throws {
        try await change(in: transaction) { record in
            if !mayBeSpent { record.date = nil }
            record.fail(reason, at: date, jitter: .random(in: 0.5...1))
        }
    }

    /// Removes the record: the response is stored, or there is none to wait for.
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
