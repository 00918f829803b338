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
    /// The maximum time to wait, in seconds. If a service sent a larger value by mistake, it would lock out its users.
    private static let limit = 86_400.0

    /// Returns the time to wait: the longest, if a proxy has added its own. If the field contains a date, the time is
    /// relative to the `Date` of the response, if present, so that a wrong local clock has no effect. A fraction of a second
    /// counts as a second.
    static func duration(in response: ServiceResponse) -> Duration? {
        let times = response.head.headerFields[values: .retryAfter].flatMap { value -> [Double] in
            if let date = Timestamp.date(from: value) {
                return [date.timeIntervalSince(response.date ?? response.receivedAt)]
            }
            let numbers = value.split(separator: ",").map { Double(decimal: String($0)) }
            return numbers.contains(nil) ? [] : numbers.compactMap { $0?.rounded(.up) }
        }
        return times.max().map { .seconds(min(max($0, 0), limit)) }
    }
}
