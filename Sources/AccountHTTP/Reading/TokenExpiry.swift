import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules for the expiry of an access token. An impossible expiry counts as unknown and not as expired, because
/// AccountKit would otherwise refresh the token at each use.
enum TokenExpiry {
    /// The longest accepted lifetime: ten years, in seconds. A larger value is a number of milliseconds or a date.
    static let longestLifetime: Int64 = 10 * 365 * 86_400

    /// Returns the expiry by the local clock. The expiry comes from `expires_in`, counted from the arrival of the
    /// response (RFC 6749, section 5.1), or otherwise from the `exp` of a JWT. The `exp` is relative to the `Date` of
    /// the response, so that a wrong local clock has no effect. This method ignores a past `exp`, because the service
    /// has just accepted the token.
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
    /// The number of seconds if it is a whole number, which some services send as a string.
    var wholeSeconds: Int64? {
        switch self {
        case .integer(let seconds): seconds
        case .string(let text) where text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }): Int64(text)
        default: nil
        }
    }
}
