import Foundation
import Synchronization

/// Cancels those who listen at the very moment when they are told something.
///
/// A task that is cancelled is locked by the runtime while its handlers run, and so is one that is resumed. Who resumes a listener
/// under a lock that the handler of its cancellation takes too stops both threads for ever.
package enum CancellationRace {
    /// - Parameters:
    ///   - listen: Listens until its task is cancelled.
    ///   - tell: Tells all listeners something.
    /// - Returns: Whether it came to an end within a minute.
    package static func run(
        rounds: Int = 20_000, _ listen: @escaping @Sendable () async -> Void,
        against tell: @escaping @Sendable () -> Void
    ) async -> Bool {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let flag = Flag()
        // Threads of their own: those of tasks are few, and are needed by the timer.
        Thread.detachNewThread {
            while !flag.isSet.load(ordering: .relaxed) { tell() }
            end.yield(true)
        }
        Thread.detachNewThread {
            for round in 1...rounds {
                let task = Task { await listen() }
                // Now and then it is cancelled before it listens, and now and then long after.
                usleep(UInt32(round % 64))
                task.cancel()
            }
            flag.isSet.store(true, ordering: .relaxed)
            end.yield(true)
        }
        let timer = Task {
            // It throws only once both have ended.
            guard (try? await Task.sleep(for: .seconds(60))) != nil else { return }
            end.yield(false)
        }
        defer { timer.cancel() }
        var count = 0
        for await hasEnded in ends {
            guard hasEnded else { return false }
            count += 1
            if count == 2 { return true }
        }
        return false
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }
}
