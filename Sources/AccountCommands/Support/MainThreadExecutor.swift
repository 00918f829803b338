import AccountKit
import Dispatch
import Synchronization

/// Runs tasks on the thread that the process began with.
///
/// Most commands read two small files and print a line. The pool of threads that tasks run on otherwise would take longer to
/// start than that takes, and is not started until something needs it. Tasks that do not inherit the preference of the
/// first one run in the pool, as ever.
package final class MainThreadExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let count = DispatchSemaphore(value: 0)

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        count.signal()
    }

    /// Runs `body`, which ends the process.
    package static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
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
