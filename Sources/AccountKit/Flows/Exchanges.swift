import Synchronization

/// The token exchanges in progress. After an exchange was sent, it runs to its end even if all its callers have left.
final class Exchanges: Sendable {
    private struct State {
        var count = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var observer: (any ExchangeObserver)?
    }

    private let state = Mutex(State())
    var isInterrupted: Bool { state.withLock(\.observer)?.isInterrupted ?? false }

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    func observe(_ observer: any ExchangeObserver) {
        state.withLock { $0.observer = observer }
    }

    func begin(limit: Duration) {
        let observer = state.withLock { state in
            state.count += 1
            return state.observer
        }
        observer?.exchangeBegan(limit: limit)
    }

    func end() {
        let (observer, waiters) = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return (state.observer, [CheckedContinuation<Void, Never>]()) }
            defer { state.waiters = [] }
            return (state.observer, state.waiters)
        }
        observer?.exchangeEnded()
        for waiter in waiters { waiter.resume() }
    }

    func finish() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if state.count > 0 { state.waiters.append(continuation) }
                return state.count == 0
            }
            if isEmpty { continuation.resume() }
        }
    }

    /// Runs `body` in a separate task. If the caller is cancelled, the caller returns at once. The task of `body` is
    /// cancelled too, but `body` runs to its end, and uses ``shielded(_:)`` for parts that must not be interrupted.
    /// While `body` stores an account, the caller waits. Therefore, if the caller gets a `CancellationError`, no
    /// account was stored.
    func run<Value: Sendable>(
        limit: Duration, _ body: @escaping @Sendable (any Storing) async throws -> Value
    ) async throws -> Value {
        begin(limit: limit)
        let result = SharedResult<Value>()
        let task = Task {
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await body(result))
            } catch {
                outcome = .failure(error)
            }
            // In this order, a caller that has the value sees no exchange in progress.
            end()
            result.set(outcome)
        }
        return try await withTaskCancellationHandler {
            try await result.value()
        } onCancel: {
            task.cancel()
            result.leave()
        }
    }
}

/// A way for an exchange to report that it stores an account, so that the caller does not leave during the write.
protocol Storing: Sendable {
    /// - Throws: `CancellationError` if the caller has left.
    func beginStoring() throws

    func giveUpStoring()
}

private final class SharedResult<Value: Sendable>: Storing {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
        var isStoring = false
        var isLeaving = false

        mutating func set(_ new: Result<Value, any Error>) -> CheckedContinuation<Value, any Error>? {
            guard result == nil else { return nil }
            result = new
            return waiter.take()
        }
    }

    private let state = Mutex(State())

    func set(_ result: Result<Value, any Error>) {
        state.withLock { $0.set(result) }?.resume(with: result)
    }

    func leave() {
        let cancelled = Result<Value, any Error>.failure(CancellationError())
        let waiter = state.withLock { state in
            state.isLeaving = true
            return state.isStoring ? nil : state.set(cancelled)
        }
        waiter?.resume(with: cancelled)
    }

    func beginStoring() throws {
        try state.withLock { state in
            if state.isLeaving { throw CancellationError() }
            state.isStoring = true
        }
    }

    func giveUpStoring() {
        let isLeaving = state.withLock { state in
            state.isStoring = false
            return state.isLeaving
        }
        if isLeaving { leave() }
    }

    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<Value, any Error>? = state.withLock { state in
                if state.result == nil { state.waiter = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

/// Observes token exchanges, so that a command can delay signals during an exchange.
package protocol ExchangeObserver: Sendable {
    /// An exchange begins, and may take up to `limit`. Another exchange may be in progress.
    func exchangeBegan(limit: Duration)
    /// The tokens of the exchange are stored or revoked.
    func exchangeEnded()
    var isInterrupted: Bool { get }
}
