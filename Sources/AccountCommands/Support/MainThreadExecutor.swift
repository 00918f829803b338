import AccountKit
import Dispatch
import Synchronization

/// Runs a tool's tasks on its main thread.
///
/// Most commands read two small files and print a line. Starting the thread pool would take longer than that, so it is
/// not started until something needs it. Tasks that do not inherit the preference of the first one run in the pool.
///
/// ```swift
/// @main enum Tool {
///     static func main() {
///         MainThreadExecutor.run {
///             await Gists.main()      // an AsyncParsableCommand
///             exit(0)
///         }
///     }
/// }
/// ```
public final class MainThreadExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let count = DispatchSemaphore(value: 0)

    /// Adds a job, which the main thread runs after those before it.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        count.signal()
    }

    /// Runs a tool, from its `main`.
    ///
    /// - Parameter body: The tool, which ends the process.
    public static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        let executor = MainThreadExecutor()
        BlockingWork.stays(on: executor.asUnownedTaskExecutor())
        Task(executorPreference: executor) { await body() }
        while true {
            executor.count.wait()
            let job = executor.jobs.withLock { $0.removeFirst() }
            job.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }
}
