import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Runs work that blocks its thread, such as disk access, a program or a long computation, on separate threads.
///
/// Tasks share one thread for each processor, which must not block: two unlocks at a time would delay every other task of an app, including
/// its timeouts. Reading an archive does not use this, since it takes less time than a change of threads.
package enum BlockingWork {
    /// More threads would only wait for the same disk, or need a gigabyte for Argon2id.
    static let threads = WorkerThreads(limit: 4, idleSeconds: 5)

    private static let hasOwnExecutor = Atomic(false)
    private static let ownExecutor = Mutex<UnownedTaskExecutor?>(nil)

    /// Lets tasks with this executor preference block its thread. In a command, nothing else runs on it.
    package static func stays(on executor: UnownedTaskExecutor) {
        ownExecutor.withLock { $0 = executor }
        hasOwnExecutor.store(true, ordering: .releasing)
    }

    /// Runs `body` on a thread that may block, and waits for it. A cancellation does not interrupt it.
    package static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if isOnOwnExecutor { return try body() }
        let outcome = Outcome<Value, Failure>()
        await withUnsafeContinuation { continuation in
            threads.add {
                let result = Result { () throws(Failure) in try body() }
                outcome.result.withLock { $0 = result }
                continuation.resume()
            }
        }
        guard let result = outcome.result.withLock({ $0 }) else { preconditionFailure("it was resumed with a result") }
        return try result.get()
    }

    /// The result of a job. A lock protects it, since a sanitizer cannot see that a continuation that resumes before its task waits is
    /// safe.
    private final class Outcome<Value: Sendable, Failure: Error>: Sendable {
        let result = Mutex<Result<Value, Failure>?>(nil)
    }

    private static var isOnOwnExecutor: Bool {
        guard hasOwnExecutor.load(ordering: .acquiring), let own = ownExecutor.withLock({ $0 }) else { return false }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == own
    }
}

/// A few threads, which are created for work and end after a while without work.
///
/// @unchecked Sendable: the mutex protects all mutable state. It is not a `Mutex`, since threads use it to wait for work.
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

    /// Waits for a job; `nil` if there was none for a while, so that the thread ends.
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
    private func start() -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The default size of some C libraries is too small.
        pthread_attr_setstacksize(&attributes, 1024 * 1024)
        let retained = Unmanaged.passRetained(self).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let status = pthread_create(
            &thread, &attributes,
            { argument in
                Unmanaged<WorkerThreads>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, retained)
        #else
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { argument in
                Unmanaged<WorkerThreads>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, retained)
        #endif
        if status != 0 { Unmanaged<WorkerThreads>.fromOpaque(retained).release() }
        return status == 0
    }
}
