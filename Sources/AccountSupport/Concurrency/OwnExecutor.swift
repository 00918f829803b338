import Synchronization

/// The executor of a command, which runs the tasks of the command on one thread. An app has none.
///
/// A command that only waits for a response needs no second thread. `Task(executorPreference: OwnExecutor.current)` keeps
/// a separate task on the thread of the command; a child task of a group stays there without it.
package enum OwnExecutor {
    private static let isSet = Atomic(false)
    private static let executor = Mutex<(any TaskExecutor)?>(nil)

    /// Declares that no other code runs on the thread of this executor, so that its tasks may block the thread.
    package static func set(_ own: some TaskExecutor) {
        executor.withLock { $0 = own }
        isSet.store(true, ordering: .releasing)
    }

    /// The executor if the current task prefers it, otherwise `nil`.
    package static var current: (any TaskExecutor)? {
        guard isSet.load(ordering: .acquiring), let own = executor.withLock(\.self) else { return nil }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == own.asUnownedTaskExecutor() ? own : nil
    }
}
