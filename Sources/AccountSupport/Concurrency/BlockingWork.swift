import Synchronization

/// Runs blocking work on separate threads. Tasks share one thread per processor, so two unlocks at a time would delay
/// every other task of an app, including its timeouts. Reading an archive does not use this, since it takes less time
/// than a change of threads.
package enum BlockingWork {
    /// More threads would only wait for the same disk, or need a gigabyte for Argon2id.
    static let threads = WorkerThreads(limit: 4, idleSeconds: 5)

    private static let hasOwnExecutor = Atomic(false)
    private static let ownExecutor = Mutex<UnownedTaskExecutor?>(nil)

    /// Lets tasks with this executor preference block its thread. In a command, nothing else runs on it.
    package static func stays(on executor: UnownedTaskExecutor) {
        ownExecutor.withLock { $0 = executor }
        hasOwnExecutor.store(true, ordering: .releasing)
    }

    /// A cancellation does not interrupt `body`.
    package static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if isOnOwnExecutor { return try body() }
        let outcome = Outcome<Value, Failure>()
        await withUnsafeContinuation { continuation in
            threads.add {
                let result = Result { () throws(Failure) in try body() }
                outcome.result.withLock { $0 = result }
                continuation.resume()
            }
        }
        guard let result = outcome.result.withLock({ $0 }) else { preconditionFailure("it was resumed with a result") }
        return try result.get()
    }

    /// A lock, since a sanitizer cannot see that a continuation that resumes before its task waits is safe.
    private final class Outcome<Value: Sendable, Failure: Error>: Sendable {
        let result = Mutex<Result<Value, Failure>?>(nil)
    }

    private static var isOnOwnExecutor: Bool {
        guard hasOwnExecutor.load(ordering: .acquiring), let own = ownExecutor.withLock({ $0 }) else { return false }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == own
    }
}
