import AccountSupport

/// The record of a refresh under the lock; see ``RefreshRecord``.
extension VaultDraft {
    /// Begins the exchange of a refresh, unless another refresh has failed while this one waited for the lease. If
    /// `isSpending` is `true`, records that the refresh token is about to be spent, so that the next refresh detects a crash
    /// before the response is stored.
    ///
    /// - Parameters:
    ///   - failureCount: The number of failed refreshes before this one waited.
    ///   - commit: Called before the record is written. After this call, the flow is not cancelled.
    func beginExchange(
        isSpending: Bool, after failureCount: Int, committing commit: () throws -> Void
    ) async throws(AccountError) -> ExchangeStart {
        try await step {
            var (record, revision) = try await refreshRecord()
            if record.failureCount ?? 0 != failureCount, let reason = vault.pause(after: record) {
                return .paused(reason)
            }
            try commit()
            let unfinished = record.date
            guard isSpending else { return .begun(unfinished: unfinished) }
            vault.unsaved.markSpending()
            transaction.announceRequest()
            record.date = unfinished ?? now
            _ = try await transaction.replace(.refreshRecord, with: try record.encode(), ifRevision: revision)
            return .begun(unfinished: unfinished)
        }
    }

    /// Records that the refresh failed, so that all processes pause before the next request. `mayBeSpent` is `true` if
    /// the service may have received the refresh token in this or an earlier request.
    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError) {
        try await step {
            var (record, revision) = try await refreshRecord()
            if !mayBeSpent { record.date = nil }
            record.fail(reason, at: now, jitter: .random(in: 0.5...1))
            _ = try await transaction.replace(.refreshRecord, with: try record.encode(), ifRevision: revision)
        }
    }

    func forgetRefreshRecord() async throws(AccountError) {
        try await step { try await removeRefreshRecord() }
    }

    func removeRefreshRecord() async throws {
        guard let revision = try await storedRefreshRecord()?.revision else { return }
        _ = try await transaction.remove(.refreshRecord, ifRevision: revision)
    }

    private func refreshRecord() async throws -> (record: RefreshRecord, revision: ArchiveRevision?) {
        let stored = try await storedRefreshRecord()
        return (stored.flatMap { RefreshRecord.decode($0.bytes) } ?? RefreshRecord(), stored?.revision)
    }

    /// Returns the stored entry. Moves aside an entry that is not a record, since it would block every refresh. Throws
    /// any other error, since there may be a record according to which the refresh token may be spent.
    private func storedRefreshRecord() async throws -> StoredEntry? {
        do {
            return try await transaction.read(.refreshRecord)
        } catch let reason as AccountError where reason.isAboutEntry {
            do {
                try await transaction.quarantineLeftover(.refreshRecord, because: reason, vault.logger)
            } catch is AccountError {
                // The storage is unreachable.
                throw reason
            }
            return nil
        }
    }
}

enum ExchangeStart: Sendable {
    /// The request may be sent. `unfinished` is the date of an earlier request whose response was never stored.
    case begun(unfinished: Date?)

    /// The refresh of another process has failed in the meantime, so the flow sends nothing now.
    case paused(UnverifiedReason)
}

extension Vault {
    func refreshRecord() async throws -> RefreshRecord? {
        try await storage.read(.refreshRecord).flatMap { RefreshRecord.decode($0.bytes) }
    }

    /// Returns the record; `nil` if there is none, or if it cannot be read. An unreadable record is ignored, because it
    /// could only delay a refresh.
    func readableRefreshRecord() async -> RefreshRecord? { try? await refreshRecord() }

    /// Returns the reason of the last failure during the pause after it.
    func pause(after record: RefreshRecord?) -> UnverifiedReason? {
        record?.pause(at: clock.now, isShared: isShared)
    }

    /// Returns the reason for a pause if the number of failed refreshes differs from `failureCount`, because the refresh of
    /// another process has failed.
    func pauseOfAnother(failureCount: Int) async -> UnverifiedReason? {
        guard let record = await readableRefreshRecord(), record.failureCount ?? 0 != failureCount else { return nil }
        return pause(after: record)
    }
}
