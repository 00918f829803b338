import AccountSupport
import HTTPTypes

extension RetryAfter {
    /// Returns the time to wait that a response requests. A date is relative to the `Date` of the response, if present.
    ///
    /// With status 429, some services name the time elsewhere: Okta in `X-Rate-Limit-Reset`, as a date in seconds since 1970, and
    /// Discord in the member `retry_after`.
    static func duration(in response: ServiceResponse) -> Duration? {
        let (fields, date) = (response.head.headerFields, response.date ?? response.receivedAt)
        if let duration = duration(in: fields[values: .retryAfter], at: date) { return duration }
        guard response.status == 429 else { return nil }
        let reset = [HTTPField.Name.rateLimitReset, .rateLimitResetTime].lazy.compactMap { fields[$0] }.first
        let seconds =
            reset.flatMap { Double(decimal: $0) }.map { $0 <= limit ? $0 : $0 - date.timeIntervalSince1970 }
            ?? ResponseObject(response.decompressed().body, secrets: [])?.members["retry_after"]?.decimal
        return seconds.map { .seconds(min(max($0.rounded(.up), 1), limit)) }
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimitReset = HTTPField.Name("X-Rate-Limit-Reset")!
    fileprivate static let rateLimitResetTime = HTTPField.Name("X-RateLimit-Reset")!
}
