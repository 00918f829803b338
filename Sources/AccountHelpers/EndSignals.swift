import AccountKit
import AccountSupport
import CAccountKitShims

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The signals that end the process: SIGINT, SIGTERM and SIGHUP.
enum EndSignals {
    /// Passes on each signal instead of ending the process. Ignored signals stay ignored.
    ///
    /// Call this function once: its thread waits for signals until the process ends.
    static func receive(_ receiver: @escaping @Sendable (Int32) -> Void) throws(AccountError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw AccountError(
                .inaccessible, "cannot wait for signals", cause: SystemCallError("pipe", "signals", errno: errno))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A signal handler must not block.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let arriving = ends[0]
        let failure = DedicatedThread.start {
            var number: UInt8 = 0
            while true {
                let count = read(arriving, &number, 1)
                if count == 1 {
                    receiver(Int32(number))
                } else if count == 0 || errno != EINTR {
                    return
                }
            }
        }
        guard failure == 0 else {
            throw AccountError(
                .busy, "cannot wait for signals", cause: SystemCallError("pthread_create", "signals", errno: failure))
        }
        accountkit_signals_forward(ends[1])
    }

    /// Makes the signals end the process again.
    static func restore() { accountkit_signals_forward(-1) }
}
