import CAccountKitShims
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Whether this process can start the threads that a request needs. Without them, the network library aborts the process, and
/// the tasks of Swift wait forever. The number of a user's processes and threads may be limited (setrlimit(2),
/// `RLIMIT_NPROC`), and that of a container too.
package enum ThreadSupply {
    private static let wasSufficient = Atomic(false)

    /// Whether the threads can be started. After the first success they exist, so later calls do not try again.
    package static var isSufficient: Bool {
        if wasSufficient.load(ordering: .relaxed) { return true }
        guard canStart(count) else { return false }
        wasSufficient.store(true, ordering: .relaxed)
        return true
    }

    /// The reason if the supply is not sufficient.
    package static let problem = "the system does not allow this process to start another thread; nothing was sent"

    /// For each processor, a loop of the network library, a thread for name lookups and a thread for tasks; and a few more,
    /// because the system may count the threads of this test for a moment after their end.
    private static var count: Int {
        let processors = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
        // On a large machine, a limit that is so close is unlikely.
        return min(processors * 3, 48) + 4
    }

    /// Returns whether that many threads can run at the same time.
    static func canStart(_ count: Int) -> Bool { accountkit_can_start_threads(Int32(count)) != 0 }
}
