#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pending device authorizations, by device code.
///
/// A value type without side effects, like `GrantLedger`. Source: RFC 8628.
struct DeviceLedger: Codable, Equatable, Sendable {
    private var authorizations: [String: DeviceAuthorization] = [:]

    /// Starts a device authorization.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime of the codes, in seconds.
    ///   - interval: The minimum time between two polls, in seconds.
    /// - Returns: The device code, which only the device knows, and the user code, which the user types.
    mutating func begin(
        scope: Scope,
        target: Target = Target(),
        lifetime: Int,
        interval: Int,
        now: Date
    ) -> (deviceCode: String, userCode: String) {
        let deviceCode = RandomText.token(prefix: "dc_")
        let authorization = DeviceAuthorization(
            userCode: RandomText.userCode(),
            scope: scope,
            target: target,
            expiresAt: now.addingTimeInterval(TimeInterval(lifetime)),
            interval: interval
        )
        authorizations[deviceCode] = authorization
        return (deviceCode, authorization.userCode)
    }

    /// Records the user's decision.
    ///
    /// - Parameter userCode: The code as typed. Case, spaces and hyphens are ignored (RFC 8628, section 6.1).
    /// - Returns: Whether a device was waiting for this code.
    mutating func decide(_ decision: DeviceAuthorization.Decision, userCode: String, now: Date) -> Bool {
        let typed = Self.letters(of: userCode)
        let waiting = authorizations.first { Self.letters(of: $0.value.userCode) == typed }
        guard let waiting, waiting.value.decision == .pending, waiting.value.expiresAt > now else { return false }
        authorizations[waiting.key]?.decision = decision
        return true
    }

    private static func letters(of code: String) -> String {
        code.uppercased().filter(\.isLetter)
    }
}

// MARK: - Polling

extension DeviceLedger {
    /// The response to a device's request for tokens.
    enum Poll: Equatable, Sendable {
        case pending
        /// The interval has been increased.
        case slowDown(interval: Int)
        case expired
        case denied
        case approved(username: String, scope: Scope, target: Target)
        /// The device code was never issued, or has already been exchanged.
        case unknown
    }

    /// A poll that is half a second early counts as in time, since a device that waits exactly for the interval must
    /// not be rejected.
    private static let tolerance: TimeInterval = 0.5

    /// The result of a poll, which uses up an approved authorization.
    ///
    /// Source: RFC 8628, section 3.5: `slow_down` permanently increases the interval by five seconds.
    mutating func poll(_ deviceCode: String, now: Date) -> Poll {
        guard let authorization = authorizations[deviceCode] else { return .unknown }
        guard authorization.expiresAt > now else { return .expired }
        let earliest = authorization.lastPolledAt.map {
            $0.addingTimeInterval(TimeInterval(authorization.interval) - Self.tolerance)
        }
        authorizations[deviceCode]?.lastPolledAt = now
        if let earliest, now < earliest {
            authorizations[deviceCode]?.interval += 5
            return .slowDown(interval: authorization.interval + 5)
        }
        switch authorization.decision {
        case .pending:
            return .pending
        case .denied:
            return .denied
        case .approved(let username):
            authorizations[deviceCode] = nil
            return .approved(username: username, scope: authorization.scope, target: authorization.target)
        }
    }
}
