/// Scoped transactions and leases, which end when their body returns or throws, and also after a cancellation.
extension ArchiveStorage {
    /// Runs `body` in a transaction, for which other processes wait.
    ///
    /// ```swift
    /// try await storage.withTransaction(timeout: .seconds(10)) { transaction in
    ///     let revision = try await transaction.read(entry)?.revision
    ///     _ = try await transaction.replace(entry, with: bytes, ifRevision: revision)
    /// }
    /// ```
    ///
    /// - Parameter timeout: How long to wait for exclusive access.
    /// - Throws: The errors of ``beginTransaction(timeout:)``, or the error of `body`.
    package func withTransaction<Result>(
        timeout: Duration, _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await using(try await beginTransaction(timeout: timeout), body) { await $0.end() }
    }

    /// Runs `body` with the refresh lease, for which other refreshes wait. Throws the errors of
    /// ``acquireRefreshLease(timeout:)``, or the error of `body`.
    package func withRefreshLease<Result>(
        timeout: Duration, _ body: (any ArchiveLease) async throws -> Result
    ) async throws -> Result {
        try await using(try await acquireRefreshLease(timeout: timeout), body) { await $0.end() }
    }
}

extension ArchiveLease {
    /// Runs `body` in a transaction of this lease, like ``ArchiveStorage/withTransaction(timeout:_:)``.
    package func withTransaction<Result>(
        timeout: Duration, _ body: (any ArchiveTransaction) async throws -> Result
    ) async throws -> Result {
        try await using(try await beginTransaction(timeout: timeout), body) { await $0.end() }
    }
}

private func using<Scope: Sendable, Result>(
    _ scope: Scope, _ body: (Scope) async throws -> Result, ending end: (Scope) async -> Void
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
