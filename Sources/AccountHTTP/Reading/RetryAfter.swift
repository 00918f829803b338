import AccountSupport
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RetryAfter {
    /// Returns the time to wait that a response requests. A date is relative to the `Date` of the response, if present.
    static func duration(in response: ServiceResponse) -> Duration? {
        duration(in: response.head.headerFields[values: .retryAfter], at: response.date ?? response.receivedAt)
    }
}
