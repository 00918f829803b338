import AccountKit
import Synchronization

/// A value that is fetched when it is first needed, once for all who ask, and kept.
///
/// A failure is not kept: the next who asks fetches again. Who is cancelled leaves at once and does not disturb the
/// others; when all have left, the fetch is cancelled.
final class FetchedOnce<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, AuthorityError>

    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
        var nextWaiter = 0
        var fetch: Task<Void, Never>?
        /// Which fetch is under way, so that one that was given up does not answer for the next.
        var fetchNumber = 0
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
    static func catching(_ fetch: @escaping @Sendable () async throws(AuthorityError) -> Value) -> FetchedOnce {
        FetchedOnce { () async -> Outcome in
            do throws(AuthorityError) {
                return .success(try await fetch())
            } catch {
                return .failure(error)
            }
        }
    }

    /// The value, or why it could not be fetched.
    func value() async throws(AuthorityError) -> Value {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, as: waiter) }
        } onCancel: {
            leave(waiter)
        }
        return try outcome.get()
    }

    private func wait(_ continuation: CheckedContinuation<Outcome, Never>, as waiter: Int) {
        let outcome: Outcome? = state.withLock { state in
            if let value = state.value { return .success(value) }
            // `leave` may have been called before; under the lock, one of the two sees the other.
            if Task.isCancelled { return .failure(.noResponse(.cancelled)) }
            state.waiters[waiter] = continuation
            if state.fetch == nil {
                state.fetchNumber += 1
                state.fetch = Task { [number = state.fetchNumber] in
                    self.finish(number, with: await self.fetch())
                }
            }
            return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    private func leave(_ waiter: Int) {
        let continuation = state.withLock { state in
            let continuation = state.waiters.removeValue(forKey: waiter)
            if continuation != nil, state.waiters.isEmpty {
                state.fetch?.cancel()
                state.fetch = nil
            }
            return continuation
        }
        continuation?.resume(returning: .failure(.noResponse(.cancelled)))
    }

    private func finish(_ number: Int, with outcome: Outcome) {
        let waiters: [CheckedContinuation<Outcome, Never>] = state.withLock { state in
            guard number == state.fetchNumber, state.fetch != nil else { return [] }
            if case .success(let value) = outcome { state.value = value }
            state.fetch = nil
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
