import CAccountKitShims
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Whether this process can start the threads and open the files that a request needs. Without them, the network library
/// aborts the process, and the tasks of Swift wait forever. The number of a user's processes and threads may be limited
/// (setrlimit(2), `RLIMIT_NPROC`), that of a container too, the memory for their stacks (`RLIMIT_AS`), and the number of open
/// files (`RLIMIT_NOFILE`).
package enum ThreadSupply {
    private static let wasSufficient = Atomic(false)
    private static let lacksFiles = Atomic(false)

    /// Whether the threads can be started, and the files opened. After the first success they exist, so later calls do not try
    /// again.
    package static var isSufficient: Bool {
        if wasSufficient.load(ordering: .relaxed) { return true }
        let canOpen = canOpen(fileCount)
        lacksFiles.store(!canOpen, ordering: .relaxed)
        guard canOpen, canStart(count) else { return false }
        wasSufficient.store(true, ordering: .relaxed)
        return true
    }

    /// The reason if the supply is not sufficient.
    package static var problem: String { shortage + "; nothing was sent" }

    /// What the system does not allow.
    package static var shortage: String {
        lacksFiles.load(ordering: .relaxed)
            ? "the system does not allow this process to open enough files (`ulimit -n`)"
            : "the system does not allow this process to start another thread"
    }

    private static let processors = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)

    /// For each processor, a loop of the network library, a thread for name lookups and a thread for tasks; and a few more,
    /// because the system may count the threads of this test for a moment after their end.
    ///
    /// On a large machine, a limit that is so close is unlikely.
    private static let count = min(processors * 3, 48) + 4

    /// For each processor, the three files of a loop of the network library. The rest is for connections, the files of an
    /// account, its locks, and certificates.
    private static let fileCount = min(processors * 3, 96) + 16

    /// Returns whether that many threads can run at the same time.
    static func canStart(_ count: Int) -> Bool { accountkit_can_start_threads(Int32(count)) != 0 }

    /// Returns whether that many more files can be open at the same time.
    static func canOpen(_ count: Int) -> Bool { accountkit_can_open_files(Int32(count)) != 0 }
}
