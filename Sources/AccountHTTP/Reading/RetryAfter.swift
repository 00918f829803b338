import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How long a service asks not to be asked again (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// A service that mistakenly named more would lock its users out.
    static let limit = Duration.seconds(86_400)

    /// A date counts from the `Date` of the same response, so that a wrong local clock does no harm; without one, from
    /// the local clock.
    static func duration(in response: ServiceResponse) -> Duration? {
        guard let value = response.head.headerFields[values: .retryAfter].first else { return nil }
        let text = value.filter { $0 != " " && $0 != "\t" }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) {
            if text.hasPrefix("-") { return .zero }
            // More digits than an integer holds are more than the limit.
            return Int64(digits).map { min(.seconds($0), limit) } ?? limit
        }
        guard let date = HTTPDate.date(from: value) else { return nil }
        let seconds = date.timeIntervalSince(response.date ?? response.receivedAt)
        return .seconds(min(max(seconds, 0), 86_400))
    }
}
