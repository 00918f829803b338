#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A limited number of threads that run jobs.
///
/// @unchecked Sendable: the mutex protects all mutable state. It is a POSIX mutex and not a `Mutex`, because threads
/// wait for work with a condition variable.
final class WorkerThreads: @unchecked Sendable {
    private let limit: Int
    private let idleSeconds: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let newWork: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [@Sendable () -> Void] = []
    private var count = 0
    private var idleCount = 0

    init(limit: Int, idleSeconds: Int) {
        self.limit = limit
        self.idleSeconds = idleSeconds
        mutex = .allocate(capacity: 1)
        newWork = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(newWork, nil)
    }

    // Each thread retains this object, so all threads have ended.
    deinit {
        pthread_cond_destroy(newWork)
        pthread_mutex_destroy(mutex)
        newWork.deallocate()
        mutex.deallocate()
    }

    var threadCount: Int { withLock { count } }

    func add(_ job: @escaping @Sendable () -> Void) {
        let rest: (@Sendable () -> Void)? = withLock {
            jobs.append(job)
            if jobs.count <= idleCount {
                pthread_cond_signal(newWork)
            } else if count < limit, start() {
                count += 1
            } else if count == 0 {
                return jobs.removeLast()
            }
            return nil
        }
        // The system cannot create a thread, so run the job on the current thread.
        rest?()
    }

    private func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func run() {
        // Block all signals: the other threads of the program handle them.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while let job = next() { job() }
    }

    /// Returns the next job, or `nil` after `idleSeconds` without a job, so that the thread ends.
    private func next() -> (@Sendable () -> Void)? {
        withLock {
            var isTimeUp = false
            while jobs.isEmpty {
                guard !isTimeUp else {
                    count -= 1
                    return nil
                }
                var deadline = timespec()
                clock_gettime(CLOCK_REALTIME, &deadline)
                deadline.tv_sec += idleSeconds
                idleCount += 1
                isTimeUp = pthread_cond_timedwait(newWork, mutex, &deadline) == ETIMEDOUT
                idleCount -= 1
            }
            return jobs.removeFirst()
        }
    }

    /// Starts a thread, which retains this object until the thread ends. Returns `false` if the system cannot create a
    /// thread.
    private func start() -> Bool { DedicatedThread.start { self.run() } == 0 }
}
