/// Transactions and leases for the length of a closure, which AccountKit and apps use instead of begin and end.
extension ArchiveStorage {
    /// Runs `body` in a transaction, and ends the transaction when `body` returns or throws.
    ///
    /// ```swift
    /// try await storage.withTransaction(timeout: .seconds(10)) { transaction in
    ///     let revision = try await transaction.read(entry)?.revision
    ///     _ = try await transaction.replace(entry, with: bytes, ifRevision: revision)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for exclusive access.
    ///   - isolation: The actor to run on; that of the caller.
    ///   - body: Uses the transaction. Other processes wait for it.
    /// - Returns: The result of `body`.
    /// - Throws: As ``beginTransaction(timeout:)``, or the error of `body`. A cancelled task still ends its transaction.
    public func withTransaction<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await beginTransaction(timeout: timeout).ended(after: body)
    }

    /// Runs `body` with the refresh lease, and releases the lease when `body` returns or throws.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for the lease.
    ///   - isolation: The actor to run on; that of the caller.
    ///   - body: Uses the lease. Other refreshes wait for it.
    /// - Returns: The result of `body`.
    /// - Throws: As ``acquireRefreshLease(timeout:)``, or the error of `body`. A cancelled task still releases its lease.
    public func withRefreshLease<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveLease) async throws -> Result
    ) async throws -> Result {
        let lease = try await acquireRefreshLease(timeout: timeout)
        do {
            let result = try await body(lease)
            await lease.end()
            return result
        } catch {
            await lease.end()
            throw error
        }
    }
}

extension ArchiveLease {
    /// Runs `body` in a transaction of this lease, as ``ArchiveStorage/withTransaction(timeout:isolation:_:)``.
    public func withTransaction<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await beginTransaction(timeout: timeout).ended(after: body)
    }
}

extension ArchiveTransaction {
    fileprivate func ended<Result>(
        isolation: isolated (any Actor)? = #isolation, after body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await body(self)
            await end()
            return result
        } catch {
            await end()
            throw error
        }
    }
}
