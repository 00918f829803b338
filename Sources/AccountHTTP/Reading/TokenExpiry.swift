import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An impossible expiry counts as unknown, never as expired: otherwise every use of the token would refresh it.
enum TokenExpiry {
    /// The longest accepted lifetime: ten years. A larger value was meant as milliseconds or as a date.
    static let longestLifetime: Int64 = 10 * 365 * 86_400

    /// Returns the expiry by the local clock: `expires_in` after the response was received (RFC 6749, section 5.1),
    /// else the `exp` of a JWT. The `exp` is relative to the `Date` of the response, so that a wrong local clock has no
    /// effect. A past `exp` is ignored, because the service accepted the token just now.
    static func date(expiresIn: JSONValue?, accessToken: Secret, response: ServiceResponse) -> Date? {
        if let seconds = expiresIn?.wholeSeconds, 1...longestLifetime ~= seconds {
            return response.receivedAt.addingTimeInterval(TimeInterval(seconds))
        }
        guard let expiry = JSONWebToken(accessToken)?.expiresAt else { return nil }
        let lifetime = expiry.timeIntervalSince(response.date ?? response.receivedAt)
        guard lifetime > 0, lifetime <= TimeInterval(longestLifetime) else { return nil }
        return response.receivedAt.addingTimeInterval(lifetime)
    }
}

extension JSONValue {
    /// The whole number, which some services send as a string.
    var wholeSeconds: Int64? {
        switch self {
        case .integer(let seconds): seconds
        case .string(let text) where text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }): Int64(text)
        default: nil
        }
    }
}
