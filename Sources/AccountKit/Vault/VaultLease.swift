/// The right to refresh the tokens of a session. Only one task may use an instance.
final class VaultLease {
    let vault: Vault

    /// The lease; `nil` if it could not be renewed.
    private(set) var current: (any ArchiveLease)?

    fileprivate init(_ lease: any ArchiveLease, of vault: Vault) {
        self.vault = vault
        current = lease
    }

    /// Returns the permission to send a refresh token; see ``ArchiveLease/permit(for:)``.
    func permit(for duration: Duration) async -> (@Sendable () -> Bool)? { await current?.permit(for: duration) }

    /// Acquires a new lease, unless the current lease is certainly still held.
    func renew() async throws(AccountError) {
        guard let lease = current.take() else { throw AccountError(.busy, "the refresh lease was lost") }
        do {
            current = try await lease.renewed(timeout: vault.lockTimeout)
        } catch {
            throw AccountError(wrapping: error)
        }
    }

    fileprivate func release() async { await current.take()?.end() }
}

extension Vault {
    /// Runs `body` with the refresh lease, unless `alternative` has a result while another holder has the lease.
    /// `alternative` runs only if the lease is busy, and is cancelled when the lease is acquired. If `alternative`
    /// returns `nil`, this function continues to wait for the lease.
    func withLease<Value: Sendable>(
        timeout: Duration, orIfBusy alternative: @escaping @Sendable () async -> Value?,
        _ body: (VaultLease) async -> Value
    ) async throws -> Value {
        switch try await awaitLease(timeout: timeout, orIfBusy: alternative) {
        case .value(let value): return value
        case .lease(let acquired):
            let lease = VaultLease(acquired, of: self)
            let value = await body(lease)
            await lease.release()
            return value
        }
    }

    private func awaitLease<Value: Sendable>(
        timeout: Duration, orIfBusy alternative: @escaping @Sendable () async -> Value?
    ) async throws -> Awaited<Value> {
        do {
            return .lease(try await storage.acquireRefreshLease(timeout: .zero))
        } catch {
            guard (error as? AccountError)?.code == .busy else { throw error }
        }
        let result = await withTaskGroup(of: Result<Awaited<Value>?, any Error>.self) { group in
            group.addTask {
                do {
                    return .success(.lease(try await self.storage.acquireRefreshLease(timeout: timeout)))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask { .success(await alternative().map(Awaited.value)) }
            var result: Result<Awaited<Value>, any Error>?
            for await next in group {
                switch (result, next) {
                case (_, .success(nil)): continue
                case (nil, .success(let awaited?)): result = .success(awaited)
                case (nil, .failure(let error)): result = .failure(error)
                case (_?, .success(.lease(let late))): await late.end()
                case (_?, _): continue
                }
                group.cancelAll()
            }
            // The task that waits for the lease always has a result.
            return result!
        }
        return try result.get()
    }
}

private enum Awaited<Value: Sendable>: Sendable {
    case lease(any ArchiveLease)
    case value(Value)
}
