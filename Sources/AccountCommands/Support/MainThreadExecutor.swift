import AccountKit
import AccountSupport
import Dispatch
import Synchronization

/// Runs a tool's tasks on its main thread, because most commands end before a thread pool would have started. When all
/// tasks are waiting, for example for the network or the main actor, the main queue takes over.
package final class MainThreadExecutor: TaskExecutor {
    /// The pending jobs; `nil` after the main queue took over.
    private let jobs = Mutex<[UnownedJob]?>([])

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isForMainThread = jobs.withLock { jobs in
            jobs?.append(job)
            return jobs != nil
        }
        if !isForMainThread { DispatchQueue.main.async { self.run(job) } }
    }

    /// Runs a tool. Call this from `main`.
    package static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        let executor = MainThreadExecutor()
        BlockingWork.stays(on: executor.asUnownedTaskExecutor())
        Task(executorPreference: executor) { await body() }
        while let job = executor.nextJob() { executor.run(job) }
        dispatchMain()
    }

    private func nextJob() -> UnownedJob? {
        jobs.withLock { jobs in
            guard jobs?.isEmpty == false else {
                jobs = nil
                return nil
            }
            return jobs?.removeFirst()
        }
    }

    private func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
