/// Scoped transactions and leases, which AccountKit uses instead of explicit calls to begin and end them.
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
    ///   - isolation: The actor to run on; by default the actor of the caller.
    ///   - body: A function that uses the transaction. Other processes wait for the end of the transaction.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of ``beginTransaction(timeout:)``, or the error of `body`. Cancellation still ends the
    ///   transaction.
    package func withTransaction<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await using(try await beginTransaction(timeout: timeout), body) { await $0.end() }
    }

    /// Runs `body` with the refresh lease, and releases the lease when `body` returns or throws.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for the lease.
    ///   - isolation: The actor to run on; by default the actor of the caller.
    ///   - body: A function that uses the lease. Other refreshes wait for the lease.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of ``acquireRefreshLease(timeout:)``, or the error of `body`. Cancellation still releases
    ///   the lease.
    package func withRefreshLease<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveLease) async throws -> Result
    ) async throws -> Result {
        try await using(try await acquireRefreshLease(timeout: timeout), body) { await $0.end() }
    }
}

extension ArchiveLease {
    /// Runs `body` in a transaction of this lease, like ``ArchiveStorage/withTransaction(timeout:isolation:_:)``.
    package func withTransaction<Result>(
        timeout: Duration, isolation: isolated (any Actor)? = #isolation,
        _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await using(try await beginTransaction(timeout: timeout), body) { await $0.end() }
    }
}

/// Runs `body` with a transaction or a lease, and ends the transaction or lease when `body` returns or throws.
private func using<Scope: Sendable, Result>(
    _ scope: Scope, _ body: (Scope) async throws -> Result, isolation: isolated (any Actor)? = #isolation,
    ending end: (Scope) async -> Void
) async throws -> Result {
    do {
        let result = try await body(scope)
        await end(scope)
        return result
    } catch {
        await end(scope)
        throw error
    }
}
