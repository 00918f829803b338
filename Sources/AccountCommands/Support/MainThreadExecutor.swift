import AccountKit
import Dispatch
import Synchronization

/// Runs a tool's tasks on its main thread.
///
/// Most commands read two small files and print a line. Starting a thread pool would take longer than that. So the main thread
/// runs tasks as long as there are any that can go on. Once they all wait for something else, such as the network or the main
/// actor, the main queue runs the tasks.
package final class MainThreadExecutor: TaskExecutor {
    /// `nil` once the main queue runs the jobs.
    private let jobs = Mutex<[UnownedJob]?>([])

    /// Adds a job, which runs after those before it.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isForMainThread = jobs.withLock { jobs in
            jobs?.append(job)
            return jobs != nil
        }
        if !isForMainThread { DispatchQueue.main.async { self.run(job) } }
    }

    /// Runs a tool, from its `main`.
    ///
    /// - Parameter body: The tool, which ends the process.
    package static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        let executor = MainThreadExecutor()
        BlockingWork.stays(on: executor.asUnownedTaskExecutor())
        Task(executorPreference: executor) { await body() }
        while let job = executor.nextJob() { executor.run(job) }
        dispatchMain()
    }

    /// The next job; `nil` if there is none, and from now on the main queue runs the jobs.
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
