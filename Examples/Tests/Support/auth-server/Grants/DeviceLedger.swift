#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The device authorizations that wait for their users, by device code.
///
/// A value without side effects, like `GrantLedger`. Source: RFC 8628.
struct DeviceLedger: Codable, Equatable, Sendable {
    private var authorizations: [String: DeviceAuthorization] = [:]

    /// Begins a device authorization.
    ///
    /// - Parameters:
    ///   - lifetime: how long the codes are valid, in seconds.
    ///   - interval: the least time between two polls, in seconds.
    /// - Returns: the device code, for the device alone, and the user code, for the user.
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

    /// Records what the user decided.
    ///
    /// - Parameter userCode: as typed; case, spaces and hyphens do not matter (RFC 8628, section 6.1).
    /// - Returns: whether a device was waiting for this code.
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
    /// What a device is told when it asks for its tokens.
    enum Poll: Equatable, Sendable {
        case pending
        /// The interval is longer from now on.
        case slowDown(interval: Int)
        case expired
        case denied
        case approved(username: String, scope: Scope, target: Target)
        /// The device code was never issued, or has already brought its tokens.
        case unknown
    }

    /// Half a second early still counts as in time: a device that waits exactly the interval must not be told off.
    private static let tolerance: TimeInterval = 0.5

    /// The result of a poll. An approved authorization is used up by it.
    ///
    /// Source: RFC 8628, section 3.5: after `slow_down` the interval is five seconds longer for good.
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
