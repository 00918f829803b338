import Synchronization

/// Shares work between callers that want the same result at the same time.
///
/// If a caller is cancelled or times out, the caller leaves at once, and the work continues for the other callers. When
/// all callers have left, the work is cancelled, unless the work has committed. Results are not cached.
package final class SingleFlight<Key: Sendable, Value: Sendable>: Sendable {
    package enum Departure: Error, Equatable {
        case cancelled
        case timeout(Stage)
    }

    package enum Stage: Sendable {
        /// The work waits for a resource that another process uses.
        case waiting
        case begun
        case committed
    }

    package struct Progress: Sendable {
        fileprivate let report: @Sendable (Stage) -> Bool

        func begin() { _ = report(.begun) }

        func wait() { _ = report(.waiting) }

        /// Commits the work, so that it can no longer be cancelled; `false` if all callers have already left.
        func commit() -> Bool { report(.committed) }
    }

    private struct Flight {
        let id: Int
        let key: Key
        var task: Task<Void, Never>?
        var stage = Stage.waiting
        var waiters: [Int: CheckedContinuation<Result<Value, Departure>, Never>] = [:]
    }

    private struct State {
        var flights: [Flight] = []
        var givenUp: [Int: Task<Void, Never>] = [:]
        var nextID = 0

        mutating func makeID() -> Int {
            nextID += 1
            return nextID
        }
    }

    private let state = Mutex(State())
    private let isSame: @Sendable (Key, Key) -> Bool

    package init(by isSame: @escaping @Sendable (Key, Key) -> Bool) { self.isSame = isSame }

    /// Joins the work for a key, or begins it with `body` in a separate task.
    package func value(
        for key: Key, until deadline: ContinuousClock.Instant? = nil,
        body: @escaping @Sendable (Progress) async -> Value
    ) async throws(Departure) -> Value {
        let waiter = state.withLock { $0.makeID() }
        let timer = deadline.map { deadline in
            Task {
                // The sleep throws only if it was cancelled.
                guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
                leave(waiter, isTimeout: true)
            }
        }
        defer { timer?.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                join(key, waiter: waiter, until: deadline, continuation, body)
            }
        } onCancel: {
            leave(waiter, isTimeout: false)
        }
        return try result.get()
    }

    /// Waits until cancelled work has ended and has released its resources.
    package func finishGivenUp() async {
        for task in state.withLock({ Array($0.givenUp.values) }) { await task.value }
    }

    private func join(
        _ key: Key, waiter: Int, until deadline: ContinuousClock.Instant?,
        _ continuation: CheckedContinuation<Result<Value, Departure>, Never>,
        _ body: @escaping @Sendable (Progress) async -> Value
    ) {
        if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
        state.withLock { state in
            if let index = state.flights.firstIndex(where: { isSame($0.key, key) }) {
                state.flights[index].waiters[waiter] = continuation
                return
            }
            let id = state.makeID()
            // Create the task under the lock, so that a caller that leaves finds it.
            let task = Task { self.end(id, with: await body(Progress { self.move(id, to: $0) })) }
            state.flights.append(Flight(id: id, key: key, task: task, waiters: [waiter: continuation]))
        }
        // The caller may have been cancelled before its continuation was stored, so that the handler did not find the
        // continuation.
        if Task.isCancelled { leave(waiter, isTimeout: false) }
        if let deadline, deadline <= .now { leave(waiter, isTimeout: true) }
    }

    private func move(_ id: Int, to stage: Stage) -> Bool {
        state.withLock { state in
            guard let index = state.flights.firstIndex(where: { $0.id == id }) else { return false }
            if state.flights[index].stage != .committed { state.flights[index].stage = stage }
            return true
        }
    }

    private func end(_ id: Int, with value: Value) {
        let waiters: [CheckedContinuation<Result<Value, Departure>, Never>] = state.withLock { state in
            state.givenUp[id] = nil
            guard let index = state.flights.firstIndex(where: { $0.id == id }) else { return [] }
            return Array(state.flights.remove(at: index).waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: .success(value)) }
    }

    private func leave(_ waiter: Int, isTimeout: Bool) {
        var givenUp: Task<Void, Never>?
        let left: (CheckedContinuation<Result<Value, Departure>, Never>, Stage)? = state.withLock { state in
            for index in state.flights.indices {
                guard let continuation = state.flights[index].waiters.removeValue(forKey: waiter) else { continue }
                let flight = state.flights[index]
                if flight.waiters.isEmpty, flight.stage != .committed {
                    givenUp = flight.task
                    state.givenUp[flight.id] = flight.task
                    state.flights.remove(at: index)
                }
                return (continuation, flight.stage)
            }
            return nil
        }
        // Cancel outside the lock, since `cancel()` runs the cancellation handlers of the work.
        givenUp?.cancel()
        guard let (continuation, stage) = left else { return }
        continuation.resume(returning: .failure(isTimeout ? .timeout(stage) : .cancelled))
    }
}
