import Synchronization

/// Runs blocking work on separate threads. Tasks share one thread per processor, so two simultaneous unlocks could
/// delay every other task of an app, including its timeouts. Code that reads an archive does not use this type, because
/// the read takes less time than a change of threads.
package enum BlockingWork {
    /// The worker threads. More than four threads would only wait for the same disk, or require a gigabyte for
    /// Argon2id.
    static let threads = WorkerThreads(limit: 4, idleSeconds: 5)

    private static let hasOwnExecutor = Atomic(false)
    private static let ownExecutor = Mutex<UnownedTaskExecutor?>(nil)

    /// Allows tasks with this executor preference to block the executor's thread. In a command, no other code runs on
    /// this thread.
    package static func stays(on executor: UnownedTaskExecutor) {
        ownExecutor.withLock { $0 = executor }
        hasOwnExecutor.store(true, ordering: .releasing)
    }

    /// Runs `body` on a worker thread. A cancellation of the task does not interrupt `body`.
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

    /// The result behind a lock. The lock is for the thread sanitizer, which reports a continuation that resumes before
    /// its task waits.
    private final class Outcome<Value: Sendable, Failure: Error>: Sendable {
        let result = Mutex<Result<Value, Failure>?>(nil)
    }

    private static var isOnOwnExecutor: Bool {
        guard hasOwnExecutor.load(ordering: .acquiring), let own = ownExecutor.withLock({ $0 }) else { return false }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == own
    }
}
