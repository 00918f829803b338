import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Does what blocks its thread, because it waits for the disk or for a program or computes for long, on threads of its own.
///
/// The threads that tasks share are as many as there are processors, and must not block: two unlocks at once would hold up
/// every other task of an app, deadlines included. Reading an archive does not come here; it is over sooner than another
/// thread could begin it.
package enum BlockingWork {
    /// More at once would only wait for one disk, or need a gigabyte for Argon2id.
    static let threads = WorkerThreads(limit: 4, idleSeconds: 5)

    private static let hasOwnExecutor = Atomic(false)
    private static let ownExecutor = Mutex<UnownedTaskExecutor?>(nil)

    /// Lets tasks that prefer this executor block its thread: in a command nothing else runs on it.
    package static func stays(on executor: UnownedTaskExecutor) {
        ownExecutor.withLock { $0 = executor }
        hasOwnExecutor.store(true, ordering: .releasing)
    }

    /// Runs `body` on a thread that may block, and waits for it; being cancelled does not cut it off.
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

    /// What came of a job. It is handed over under a lock: how a continuation hands over that is resumed before its task waits
    /// is the runtime's own affair, and no sanitizer sees that it is safe.
    private final class Outcome<Value: Sendable, Failure: Error>: Sendable {
        let result = Mutex<Result<Value, Failure>?>(nil)
    }

    private static var isOnOwnExecutor: Bool {
        guard hasOwnExecutor.load(ordering: .acquiring), let own = ownExecutor.withLock({ $0 }) else { return false }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == own
    }
}

/// A few threads, made when there is work and ended when there has been none for a while.
///
/// @unchecked Sendable: what changes is touched only by who holds the mutex. It is not a `Mutex` since threads wait with it for
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

    // Each thread holds it, so none is left.
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
        // No thread can be had, so this one has to block.
        rest?()
    }

    private func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func run() {
        // The signals of a program are for its other threads.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while let job = next() { job() }
    }

    /// Waits for a job; `nil` if there was none for a while, and the thread is to end.
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

    /// Starts a thread, which holds this object until it ends; `false` if the system has none to give.
    private func start() -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // Not every C library's usual size is enough.
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
