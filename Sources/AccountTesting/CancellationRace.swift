import Dispatch
import Foundation
import Synchronization

/// Cancels who listens to something, again and again, while it is told something.
///
/// A task that is cancelled is locked by the runtime while its handlers run, and so is one that is resumed. Who resumes a listener
/// under a lock that the handler of its cancellation takes too stops both threads for ever.
package enum CancellationRace {
    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// A thread for those who listen: in a run of many tests the shared ones have other work.
    private final class ListenerThread: TaskExecutor {
        private let queue = DispatchQueue(label: "listener")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// - Parameters:
    ///   - rounds: How many listeners there are, one after the other.
    ///   - listen: Listens until its task is cancelled, and says so whenever it is told something.
    ///   - tell: Tells all listeners something.
    /// - Returns: Whether it came to an end within a minute, each listener having been told something again and again before it was
    ///   cancelled.
    package static func run(
        rounds: Int = 1000, _ listen: @escaping @Sendable (_ isTold: () -> Void) async -> Void,
        against tell: @escaping @Sendable () -> Void
    ) async -> Bool {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let isOver = Counter()
        Thread.detachNewThread {
            while isOver.count.load(ordering: .relaxed) == 0 {
                tell()
                sched_yield()
            }
            end.yield(true)
        }
        Thread.detachNewThread {
            let thread = ListenerThread()
            for round in 1...rounds {
                let told = Counter()
                let task = Task(executorPreference: thread) { await listen { told.count.add(1, ordering: .relaxed) } }
                // The first may be what is so when it begins.
                while told.count.load(ordering: .relaxed) < 2, isOver.count.load(ordering: .relaxed) == 0 { usleep(1) }
                // At another moment each time.
                usleep(UInt32(round % 64))
                task.cancel()
            }
            isOver.count.store(1, ordering: .relaxed)
            end.yield(true)
        }
        let timer = Task {
            // It is cancelled only after the last end was heard, so nobody waits for this any more.
            guard (try? await Task.sleep(for: .seconds(60))) != nil else { return }
            isOver.count.store(1, ordering: .relaxed)
            end.yield(false)
        }
        defer { timer.cancel() }
        var ended = 0
        for await hasEnded in ends {
            guard hasEnded else { return false }
            ended += 1
            if ended == 2 { return true }
        }
        return false
    }
}
