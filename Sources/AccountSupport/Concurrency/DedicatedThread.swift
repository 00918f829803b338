#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package enum DedicatedThread {
    // The default stack size in some C libraries is too small.
    private static let stackByteCount = 1024 * 1024

    /// Runs `body` on a new thread. Returns 0, or the error of pthread_create(3) if the system cannot create a thread
    /// and `body` does not run.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        let failure = pthread_attr_init(&attributes)
        guard failure == 0 else { return failure }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackByteCount)
        let argument = Unmanaged.passRetained(Body(run: body)).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let status = pthread_create(
            &thread, &attributes,
            { argument in
                // Optional only on Linux.
                let argument: UnsafeMutableRawPointer? = argument
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, argument)
        if status != 0 { Unmanaged<Body>.fromOpaque(argument).release() }
        return status
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
