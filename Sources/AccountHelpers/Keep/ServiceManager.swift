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

/// The program that started this process as a service, such as systemd, if it requests notifications (sd_notify(3)).
struct ServiceManager: Sendable {
    /// Variables of the service manager for the service itself, to withhold from the programs that the service runs.
    static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let socket: String?

    /// The interval for watchdog notifications: half of the time after which the manager considers this process stuck.
    let watchdogInterval: TimeInterval?

    init() {
        self.init(environment: AccountSupport.Environment.value, process: getpid())
    }

    init(environment: (String) -> String?, process: Int32) {
        socket = environment("NOTIFY_SOCKET")
        let isMeant = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Double($0) } ?? 0
        watchdogInterval = isMeant && microseconds > 0 ? microseconds / 2e6 : nil
    }

    /// - Parameter lines: Lines such as `READY=1`.
    func tell(_ lines: String...) {
        guard let socket else { return }
        // Ignore errors: the manager may be gone or not listening, and no work of this process depends on it.
        _ = accountkit_notify(socket, lines.joined(separator: "\n"))
    }
}
