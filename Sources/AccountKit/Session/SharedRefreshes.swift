import Synchronization

/// The refreshes under way in this process: whoever wants the same token refreshed joins, and gets the same outcome.
///
/// A caller that is cancelled, or whose time is over, stops waiting; the refresh goes on, for the others and since its
/// response must be stored. One that has not begun to send anything is given up with the last who waits for it.
final class SharedRefreshes: Sendable {
    /// What a refresh says of itself while it is under way.
    struct Progress: Sendable {
        fileprivate let report: @Sendable () -> Bool

        /// From now on it is not given up.
        ///
        /// - Returns: Whether it has not been given up already.
        func begin() -> Bool { report() }
    }

    private struct Refresh {
        let id: Int
        let account: Account
        var task: Task<Void, Never>?
        var hasBegun = false
        var waiters: [Int: CheckedContinuation<RefreshOutcome, Never>] = [:]
    }

    private struct State {
        var refreshes: [Refresh] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Joins the refresh of these tokens, or begins it with `body`.
    ///
    /// - Parameters:
    ///   - account: Whose tokens.
    ///   - deadline: Until when to wait; `nil` till it ends.
    ///   - body: The refresh. It is cancelled if everybody has left before it began.
    func outcome(
        of account: Account, until deadline: ContinuousClock.Instant? = nil,
        body: @escaping @Sendable (Progress) async -> RefreshOutcome
    ) async -> RefreshOutcome {
        let waiter = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let timer = deadline.map { deadline in
            Task {
                // It throws only when it is not needed any more.
                guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
                leave(waiter: waiter, isTimeout: true)
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                join(account, waiter: waiter, until: deadline, continuation, body)
            }
        } onCancel: {
            leave(waiter: waiter, isTimeout: false)
        }
    }

    private func join(
        _ account: Account, waiter: Int, until deadline: ContinuousClock.Instant?,
        _ continuation: CheckedContinuation<RefreshOutcome, Never>,
        _ body: @escaping @Sendable (Progress) async -> RefreshOutcome
    ) {
        if Task.isCancelled {
            continuation.resume(returning: .kept(account, .init(.cancelled)))
            return
        }
        state.withLock { state in
            if let index = state.refreshes.firstIndex(where: { $0.account.isSameGrant(as: account) }) {
                state.refreshes[index].waiters[waiter] = continuation
                return
            }
            state.nextID += 1
            let id = state.nextID
            state.refreshes.append(Refresh(id: id, account: account, waiters: [waiter: continuation]))
            // Under the lock, so that whoever leaves finds the task.
            state.refreshes[state.refreshes.count - 1].task = Task {
                self.finish(id, with: await body(Progress { self.begin(id) }))
            }
        }
        // Cancelled between the look above and the entry, or too late before it: whoever was to wake it found nobody.
        if Task.isCancelled { leave(waiter: waiter, isTimeout: false) }
        if let deadline, deadline <= .now { leave(waiter: waiter, isTimeout: true) }
    }

    private func begin(_ id: Int) -> Bool {
        state.withLock { state in
            guard let index = state.refreshes.firstIndex(where: { $0.id == id }) else { return false }
            state.refreshes[index].hasBegun = true
            return true
        }
    }

    private func finish(_ id: Int, with outcome: RefreshOutcome) {
        let waiters: [CheckedContinuation<RefreshOutcome, Never>] = state.withLock { state in
            guard let index = state.refreshes.firstIndex(where: { $0.id == id }) else { return [] }
            return Array(state.refreshes.remove(at: index).waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    private func leave(waiter: Int, isTimeout: Bool) {
        let left: (CheckedContinuation<RefreshOutcome, Never>, Account, UnverifiedReason)? = state.withLock { state in
            for index in state.refreshes.indices {
                guard let continuation = state.refreshes[index].waiters.removeValue(forKey: waiter) else { continue }
                let refresh = state.refreshes[index]
                let reason: UnverifiedReason =
                    switch (isTimeout, refresh.hasBegun) {
                    case (false, _): .init(.cancelled)
                    case (true, true): .init(.awaitingResponse)
                    case (true, false): .init(.busy, detail: "another program is refreshing this sign-in")
                    }
                if refresh.waiters.isEmpty, !refresh.hasBegun {
                    refresh.task?.cancel()
                    // Who comes now begins anew.
                    state.refreshes.remove(at: index)
                }
                return (continuation, refresh.account, reason)
            }
            return nil
        }
        guard let (continuation, account, reason) = left else { return }
        continuation.resume(returning: .kept(account, reason))
    }
}
