#if Offline
public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The result of a synchronization.
public struct SynchronizationReport: Sendable {
    /// The number of changes that were sent.
    public var sentCount = 0

    /// The remaining changes.
    public var pending: [PendingChange] = []

    /// The reason why the synchronization ended early or the service responded to no request, or else why the stored item
    /// of a sent change was not updated; otherwise `nil`. A change that failed alone has its reason in
    /// ``PendingChange/lastProblem``.
    public var problem: AccountError?
}

extension OfflineCollection {
    /// Adds a change, which is durable when this method returns. To send the change, call
    /// ``synchronize(ignoringBackOff:onProgress:)``.
    ///
    /// - Returns: The change, which may be combined with an earlier change of the same item that was not sent or was
    ///   refused. `nil` if the two changes cancel each other out.
    /// - Throws: `inaccessible` if AccountKit cannot store the change. In this case, the change is not added.
    @discardableResult
    public func add(_ change: Change) async throws(AccountError) -> Change? {
        try await errors {
            try await checkIsCurrent()
            return try await outbox.add(change) { [remote] in try remote.joining($0, $1) }
        }
    }

    /// Returns the unsent changes in the order in which they were made.
    public func pendingChanges() async throws(AccountError) -> [PendingChange] {
        try await errors { try await outbox.pending().map(\.pending) }
    }

    /// Keeps a change that needs a decision: the next synchronization sends it, and overwrites the changes of other clients.
    ///
    /// If the service refused the change, this method gives it a new ID, because a service may repeat its refusal of the same
    /// idempotency key.
    ///
    /// - Returns: `false` if there is no change with this ID.
    public func keep(_ id: Change.ID) async throws(AccountError) -> Bool {
        try await resolve(id) { entry in
            var change = entry.pending.state == .refused ? entry.change.anew : entry.change
            change.base = nil
            // If the response to a change was lost, the next run still checks first at the service whether the
            // change took effect.
            let wasSent = entry.pending.state == .unknown || entry.pending.state == .sending
            let pending = PendingChange(
                change: change, state: wasSent ? .unknown : .queued, attempts: entry.pending.attempts,
                lastProblem: nil, notBefore: nil)
            return try await outbox.replace(entry, with: pending) != nil
        }
    }

    /// Drops a change. If the change would create an item, this method also drops later changes of the item.
    ///
    /// - Returns: `false` if there is no change with this ID.
    public func discard(_ id: Change.ID) async throws(AccountError) -> Bool {
        try await resolve(id) { entry in
            try await outbox.discard(entry)
            return true
        }
    }

    private func resolve(
        _ id: Change.ID, _ body: (OutboxDatabase.Entry) async throws -> Bool
    ) async throws(AccountError) -> Bool {
        try await errors {
            try await storage.withRefreshLease(timeout: .seconds(30)) { _ in
                guard let entry = try await outbox.pending().first(where: { $0.change.id == id }) else { return false }
                return try await body(entry)
            }
        }
    }

    /// Sends each unsent change once, in order for each item.
    ///
    /// Only one process at a time sends changes. If the response to a change was lost, the synchronization checks at
    /// the service whether the change took effect before it sends the change again. If the service rejects a change,
    /// the change waits until the user resolves it.
    ///
    /// A change that fails delays only later changes of the same item. The synchronization ends early if a request
    /// could not be sent, if the service requests a pause, or if the user must sign in. After three changes in a row
    /// without a response from the service, the synchronization continues only if the service still responds to a
    /// request for an item.
    ///
    /// - Parameters:
    ///   - ignoringBackOff: Whether to ignore pauses after failures, because the user requested the synchronization.
    ///     AccountKit always observes a pause that the service requested.
    ///   - onProgress: A function that receives the numbers of sent and remaining changes after each change.
    /// - Throws: `busy` if another process sends changes for too long; `notSignedIn` if the user has signed out; or an
    ///   error if the changes cannot be read. An unreachable service is not an error: the report contains the problem.
    public func synchronize(
        ignoringBackOff: Bool = false, onProgress: (@Sendable (_ sent: Int, _ left: Int) -> Void)? = nil
    ) async throws(AccountError) -> SynchronizationReport {
        try await errors {
            guard try await !outbox.pending().isEmpty else { return SynchronizationReport() }
            return try await storage.withRefreshLease(timeout: .seconds(60)) { _ in
                var run = SynchronizationRun(self, ignoringBackOff: ignoringBackOff)
                return try await run.run(onProgress)
            }
        }
    }
}
#endif
