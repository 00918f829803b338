import Synchronization

/// The refreshes under way in this process: whoever wants the same token refreshed joins, and gets the same outcome.
///
/// A caller that is cancelled stops waiting; the refresh goes on, for the others and since its reply must be stored.
final class SharedRefreshes: Sendable {
    private struct Refresh {
        let id: Int
        let account: Account
        var waiters: [Int: CheckedContinuation<RefreshOutcome, Never>] = [:]
    }

    private struct State {
        var refreshes: [Refresh] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Joins the refresh of these tokens, or begins it with `body`.
    func outcome(
        of account: Account, body: @escaping @Sendable () async -> RefreshOutcome
    ) async -> RefreshOutcome {
        let waiter = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                join(account, waiter: waiter, continuation, body)
            }
        } onCancel: {
            leave(waiter: waiter)
        }
    }

    private func join(
        _ account: Account, waiter: Int, _ continuation: CheckedContinuation<RefreshOutcome, Never>,
        _ body: @escaping @Sendable () async -> RefreshOutcome
    ) {
        if Task.isCancelled {
            continuation.resume(returning: .kept(account, .init(.cancelled)))
            return
        }
        let begun: Int? = state.withLock { state in
            let index = state.refreshes.firstIndex {
                $0.account.isSameUser(as: account) && $0.account.credentials.hasSameTokens(as: account.credentials)
            }
            if let index {
                state.refreshes[index].waiters[waiter] = continuation
                return nil
            }
            state.nextID += 1
            state.refreshes.append(Refresh(id: state.nextID, account: account, waiters: [waiter: continuation]))
            return state.nextID
        }
        // Cancelled between the look above and the entry: the handler found nobody to wake.
        if Task.isCancelled { leave(waiter: waiter) }
        guard let begun else { return }
        Task {
            let outcome = await body()
            let waiters: [CheckedContinuation<RefreshOutcome, Never>] = state.withLock { state in
                guard let index = state.refreshes.firstIndex(where: { $0.id == begun }) else { return [] }
                return Array(state.refreshes.remove(at: index).waiters.values)
            }
            for waiter in waiters { waiter.resume(returning: outcome) }
        }
    }

    private func leave(waiter: Int) {
        let left: (Account, CheckedContinuation<RefreshOutcome, Never>)? = state.withLock { state in
            for index in state.refreshes.indices {
                guard let continuation = state.refreshes[index].waiters.removeValue(forKey: waiter) else { continue }
                return (state.refreshes[index].account, continuation)
            }
            return nil
        }
        left?.1.resume(returning: .kept(left!.0, .init(.cancelled)))
    }
}
