import AccountKit
import Synchronization

/// A value that is fetched when it is first needed, once for all who ask, and kept.
///
/// The first who asks fetches it, in the task that asked. A failure is not kept: the next who asks fetches again. Who is
/// cancelled leaves, and does not disturb the others: if it was the one who fetched, the next of them does.
final class FetchedOnce<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, AuthoritySignal>

    private enum Turn {
        /// It is there, or could not be fetched.
        case outcome(Outcome)
        /// Whoever is told this is the one to fetch it.
        case fetch
    }

    private struct State {
        var value: Value?
        var isBeingFetched = false
        var waiters: [Int: CheckedContinuation<Turn, Never>] = [:]
        var nextWaiter = 0
    }

    private let state: Mutex<State>
    private let fetch: @Sendable () async -> Outcome

    /// A value that is there already.
    init(_ value: Value) {
        state = Mutex(State(value: value))
        fetch = { .success(value) }
    }

    /// A value that `fetch` yields.
    init(fetch: @escaping @Sendable () async -> Outcome) {
        state = Mutex(State())
        self.fetch = fetch
    }

    /// A value that `fetch` returns, or a failure that it throws.
    static func catching(_ fetch: @escaping @Sendable () async throws(AuthoritySignal) -> Value) -> FetchedOnce {
        FetchedOnce { () async -> Outcome in
            do throws(AuthoritySignal) {
                return .success(try await fetch())
            } catch {
                return .failure(error)
            }
        }
    }

    /// The value, or why it could not be fetched.
    func value() async throws(AuthoritySignal) -> Value {
        switch await turn() {
        case .outcome(let outcome): return try outcome.get()
        case .fetch:
            let outcome = await fetch()
            end(with: outcome)
            return try outcome.get()
        }
    }

    private func turn() async -> Turn {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, as: waiter) }
        } onCancel: {
            leave(waiter)
        }
    }

    private func wait(_ continuation: CheckedContinuation<Turn, Never>, as waiter: Int) {
        let turn: Turn? = state.withLock { state in
            if let value = state.value { return .outcome(.success(value)) }
            // `leave` may have been called before; under the lock, one of the two sees the other.
            if Task.isCancelled { return .outcome(.failure(.noReply(.cancelled))) }
            if !state.isBeingFetched {
                state.isBeingFetched = true
                return .fetch
            }
            state.waiters[waiter] = continuation
            return nil
        }
        if let turn { continuation.resume(returning: turn) }
    }

    private func leave(_ waiter: Int) {
        let continuation = state.withLock { $0.waiters.removeValue(forKey: waiter) }
        continuation?.resume(returning: .outcome(.failure(.noReply(.cancelled))))
    }

    private func end(with outcome: Outcome) {
        let (told, turn): ([CheckedContinuation<Turn, Never>], Turn) = state.withLock { state in
            if case .success(let value) = outcome {
                state.value = value
            } else if Task.isCancelled, let next = state.waiters.keys.min() {
                // That it failed is this task's own affair.
                return ([state.waiters.removeValue(forKey: next)!], .fetch)
            }
            state.isBeingFetched = false
            defer { state.waiters = [:] }
            return (Array(state.waiters.values), .outcome(outcome))
        }
        for continuation in told { continuation.resume(returning: turn) }
    }
}
