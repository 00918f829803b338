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

    /// For each processor, a loop of the network library, a thread for name lookups and a thread for tasks. Twice as many,
    /// because the system may still count the threads of this test when the others start.
    private static var count: Int {
        let processors = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
        // On a large machine, a limit that is so close is unlikely.
        return 2 * (min(processors * 3, 48) + 2)
    }

    /// Returns whether that many threads can run at the same time.
    static func canStart(_ count: Int) -> Bool {
        let gate = Gate()
        defer { gate.open() }
        for _ in 0..<count where DedicatedThread.start({ gate.wait() }) != 0 { return false }
        return true
    }

    /// @unchecked Sendable: the mutex protects the state. Each waiting thread retains the object.
    private final class Gate: @unchecked Sendable {
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let opening = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private var isOpen = false

        init() {
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(opening, nil)
        }

        deinit {
            pthread_cond_destroy(opening)
            pthread_mutex_destroy(mutex)
            opening.deallocate()
            mutex.deallocate()
        }

        func wait() {
            pthread_mutex_lock(mutex)
            while !isOpen { pthread_cond_wait(opening, mutex) }
            pthread_mutex_unlock(mutex)
        }

        func open() {
            pthread_mutex_lock(mutex)
            isOpen = true
            pthread_cond_broadcast(opening)
            pthread_mutex_unlock(mutex)
        }
    }
}
