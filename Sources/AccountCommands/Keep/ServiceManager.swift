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

/// The program that has started this one as a service, such as systemd, if it wants to hear of it (sd_notify(3)).
struct ServiceManager: Sendable {
    /// What a service manager says to its service, and to no program that the service runs.
    static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let socket: String?

    /// How often it wants to hear that all is well: twice as often as it would take this process for stuck.
    let watchdogInterval: TimeInterval?

    init() {
        self.init(environment: AccountKit.Environment.value, process: getpid())
    }

    init(environment: (String) -> String?, process: Int32) {
        socket = environment("NOTIFY_SOCKET")
        let isMeant = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Double($0) } ?? 0
        watchdogInterval = isMeant && microseconds > 0 ? microseconds / 2e6 : nil
    }

    /// - Parameter lines: Such as `READY=1`.
    func tell(_ lines: String...) {
        guard let socket else { return }
        // It is not here, then, or does not listen: nothing of this program's work depends on it.
        _ = accountkit_notify(socket, lines.joined(separator: "\n"))
    }
}
