import AccountCommands
import AccountKit
import CAccountKitShims
import AccountSupport

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

/// Fires at a date, even if the machine was asleep in between, and receives the signals that end the process.
///
/// A process has one alarm, which never ends: a thread waits for the date and for the signals.
final class WallAlarm: Sendable {
    private let alarm: Int32
    private let signals: Int32

    init(_ continuation: AsyncStream<KeepInput>.Continuation) throws(AccountError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw AccountError(
                .inaccessible, "cannot set an alarm", cause: SystemCallError("pipe", "signals", errno: errno))
        }
        // A signal handler must not block.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        signals = ends[0]
        // Without an alarm, waiting returns at regular intervals.
        alarm = accountkit_alarm_make()
        let waiter = Waiter(alarm: alarm, signals: signals, continuation: continuation)
        let failure = DedicatedThread.start { waiter.run() }
        guard failure == 0 else {
            throw AccountError(
                .busy, "cannot set an alarm", cause: SystemCallError("pthread_create", "alarm", errno: failure))
        }
        accountkit_signals_forward(ends[1])
    }

    func set(_ date: Date?) {
        guard alarm >= 0 else { return }
        // The call accepts every date. If it failed anyway, the next change of the archive would still be handled.
        _ = accountkit_alarm_set(alarm, date.map { max($0.timeIntervalSince1970, -1) } ?? 0)
    }

    /// Restores the signals, so that they end the process again.
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

        func run() {
            while true {
                let number = accountkit_alarm_wait(alarm, signals)
                guard number >= 0 else { return }
                continuation.yield(number == 0 ? .alarm : .signal(number))
            }
        }
    }
}
