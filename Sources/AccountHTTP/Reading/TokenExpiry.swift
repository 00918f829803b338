import AccountKit
import AccountSupport

/// The rules for the expiry of an access token. An impossible expiry counts as unknown and not as expired, because
/// AccountKit would otherwise refresh the token at each use. A token without a known expiry is renewed when an API refuses
/// it, or when a program reports that its server refused it.
enum TokenExpiry {
    /// The longest accepted lifetime: ten years, in seconds. A larger value is a number of milliseconds or a date.
    static let longestLifetime: Int64 = 10 * 365 * 86_400

    /// Returns the expiry by the local clock. The expiry comes from `expires_in`, counted from the arrival of the
    /// response (RFC 6749, section 5.1) and rounded down to whole seconds, or from a date that some services send instead,
    /// or from the `exp` of a JWT. A date is relative to the `Date` of the response, so that a wrong local clock has no
    /// effect. This method ignores a past date, because the service has just accepted the token.
    ///
    /// - Parameter members: The members of the token response.
    static func date(in members: JSONObject, accessToken: Secret, response: ServiceResponse) -> Date? {
        if let seconds = members["expires_in"]?.wholeSeconds, 1...longestLifetime ~= seconds {
            return response.receivedAt.addingTimeInterval(TimeInterval(seconds))
        }
        let named = ["expires_at", "expires_on", "expires_in", "expires", "expiry"].map { members[$0]?.date }
        let date = (named + [JSONWebToken(accessToken)?.expiresAt]).lazy
            .compactMap { $0.flatMap { localDate($0, response) } }.first
        if let date { return date }
        // Services of an earlier draft.
        guard let seconds = members["expires"]?.wholeSeconds, 1...longestLifetime ~= seconds else { return nil }
        return response.receivedAt.addingTimeInterval(TimeInterval(seconds))
    }

    private static func localDate(_ date: Date, _ response: ServiceResponse) -> Date? {
        let lifetime = date.timeIntervalSince(response.date ?? response.receivedAt)
        guard lifetime > 0, lifetime <= TimeInterval(longestLifetime) else { return nil }
        return response.receivedAt.addingTimeInterval(lifetime)
    }
}
