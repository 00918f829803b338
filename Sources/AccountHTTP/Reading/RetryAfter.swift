import AccountKit
import AccountSupport
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The time to wait that a service requests (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The maximum time to wait. If a service sent a larger value by mistake, it would lock out its users.
    static let limit = Duration.seconds(86_400)

    /// Returns the time to wait. If the field contains a date, the time is relative to the `Date` of the response, if
    /// present, so that a wrong local clock has no effect.
    static func duration(in response: ServiceResponse) -> Duration? {
        guard let value = response.head.headerFields[values: .retryAfter].first else { return nil }
        let text = value.filter { $0 != " " && $0 != "\t" }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) {
            if text.hasPrefix("-") { return .zero }
            // A number that is too large for an integer exceeds the limit.
            return Int64(digits).map { min(.seconds($0), limit) } ?? limit
        }
        guard let date = HTTPDate.date(from: value) else { return nil }
        let seconds = date.timeIntervalSince(response.date ?? response.receivedAt)
        return .seconds(min(max(seconds, 0), 86_400))
    }
}
