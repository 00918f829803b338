import Dispatch
import Foundation
import Synchronization

/// Repeatedly cancels listeners while they receive elements.
///
/// The runtime locks a task while its cancellation handlers run, and also while it is resumed. If code resumes a
/// listener under a lock that the cancellation handler also acquires, the result is a deadlock.
package enum CancellationRace {
    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// A thread for the listeners, because the shared threads are busy in a run of many tests.
    private final class ListenerThread: TaskExecutor {
        private let queue = DispatchQueue(label: "listener")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// - Parameter listen: A function that listens until its task is cancelled, and reports each element.
    /// - Returns: Whether all rounds ended within a minute, each after at least two elements.
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
                // The first element may be the initial state.
                while told.count.load(ordering: .relaxed) < 2, isOver.count.load(ordering: .relaxed) == 0 { usleep(1) }
                // Cancel at a different moment in each round.
                usleep(UInt32(round % 64))
                task.cancel()
            }
            isOver.count.store(1, ordering: .relaxed)
            end.yield(true)
        }
        let timer = Task {
            // The sleep is cancelled only after all rounds have ended.
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
