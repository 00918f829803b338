import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// When an access token expires, as far as the service said so.
///
/// What is impossible counts as unknown, never as expired: a wrong expiry would make every use of the token refresh it.
enum TokenExpiry {
    /// The longest lifetime that is believed: ten years. What is beyond it was meant as milliseconds, or as a date.
    static let longestLifetime: Int64 = 10 * 365 * 86_400

    /// The expiry by the local clock: `expires_in` counted from the receipt, else the `exp` of a JWT, else unknown.
    ///
    /// - Parameters:
    ///   - expiresIn: The field of the response (RFC 6749, section 5.1). Only a positive whole number of seconds counts, also
    ///     if the service sends it as a string.
    ///   - accessToken: The token. An `exp` in it counts from the response's own `Date`, so that it survives a local clock
    ///     that is wrong, and only if it lies ahead: the service accepted the token just now.
    ///   - response: The response in which the token came, or was accepted.
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
    /// A whole number, which some services send as a string.
    var wholeSeconds: Int64? {
        switch self {
        case .integer(let seconds): seconds
        case .string(let text) where text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }): Int64(text)
        default: nil
        }
    }
}
