import AccountKit
import CAccountKitShims

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Rings at a date, also if the machine slept till then, and takes the signals that are to end the process.
///
/// One for the process, and never ended: a thread waits for both.
final class WallAlarm: Sendable {
    private let alarm: Int32
    private let signals: Int32

    /// - Parameter continuation: Gets the rings and the signals.
    init(_ continuation: AsyncStream<KeepInput>.Continuation) throws(AccountError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw AccountError(
                .inaccessible, "no alarm can be set", cause: SystemCallError("pipe", "signals", errno: errno))
        }
        // A signal handler must not wait for room.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        signals = ends[0]
        // Where there is none, it rings all the time.
        alarm = accountkit_alarm_make()
        let waiter = Waiter(alarm: alarm, signals: signals, continuation: continuation)
        guard waiter.start() else {
            throw AccountError(
                .inaccessible, "no alarm can be set", cause: SystemCallError("pthread_create", "alarm", errno: EAGAIN))
        }
        accountkit_signals_forward(ends[1])
    }

    func set(_ date: Date?) {
        guard alarm >= 0 else { return }
        // It fails for no date; and if it did, the next change of the archive would be looked at all the same.
        _ = accountkit_alarm_set(alarm, date.map { max($0.timeIntervalSince1970, -1) } ?? 0)
    }

    /// From now on signals end the process again.
    static func returnSignals() { accountkit_signals_forward(-1) }

    private final class Waiter: Sendable {
        private let alarm: Int32
        private let signals: Int32
        private let continuation: AsyncStream<KeepInput>.Continuation

        init(alarm: Int32, signals: Int32, continuation: AsyncStream<KeepInput>.Continuation) {
            self.alarm = alarm
            self.signals = signals
            self.continuation = continuation
        }

        /// Starts a thread, which holds this object for good; `false` if the system has none to give.
        func start() -> Bool {
            let retained = Unmanaged.passRetained(self).toOpaque()
            #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(
                &thread, nil,
                { argument in
                    Unmanaged<Waiter>.fromOpaque(argument).takeUnretainedValue().run()
                    return nil
                }, retained)
            #else
            var thread = pthread_t()
            let status = pthread_create(
                &thread, nil,
                { argument in
                    Unmanaged<Waiter>.fromOpaque(argument!).takeUnretainedValue().run()
                    return nil
                }, retained)
            #endif
            return status == 0
        }

        private func run() {
            while true {
                let number = accountkit_alarm_wait(alarm, signals)
                guard number >= 0 else { return }
                continuation.yield(number == 0 ? .alarm : .signal(number))
            }
        }
    }
}
