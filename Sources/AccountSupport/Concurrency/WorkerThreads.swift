#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// @unchecked Sendable: the mutex protects all mutable state. It is not a `Mutex`, since threads use it to wait for
/// work.
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

    // Each thread holds this object, so all threads have ended.
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
        // No thread can be created, so the current one blocks.
        rest?()
    }

    private func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func run() {
        // Signals are handled by the other threads of the program.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while let job = next() { job() }
    }

    /// Returns `nil` if there was no job for a while, so that the thread ends.
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

    /// Starts a thread, which holds this object until it ends; `false` if no thread can be created.
    private func start() -> Bool { DedicatedThread.start { self.run() } == 0 }
}
