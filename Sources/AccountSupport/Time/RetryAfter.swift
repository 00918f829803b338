/// The time to wait that a service requests (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// The maximum time to wait, in seconds. If a service sent a larger value by mistake, it would lock out its users.
    package static let limit = 86_400.0

    /// Returns the time to wait: the longest, if a proxy has added its own. A fraction of a second counts as a second.
    ///
    /// - Parameters:
    ///   - fields: The values of the fields `Retry-After` of a response.
    ///   - date: The date of the response by the clock of the service, from its field `Date`, so that a wrong local
    ///     clock has no effect.
    package static func duration(in fields: [String], at date: Date) -> Duration? {
        let times = fields.flatMap { value -> [Double] in
            if let end = Timestamp.date(from: value) { return [end.timeIntervalSince(date)] }
            let numbers = value.split(separator: ",").map { Double(decimal: String($0)) }
            return numbers.contains(nil) ? [] : numbers.compactMap { $0?.rounded(.up) }
        }
        return times.max().map { .seconds(min(max($0, 0), limit)) }
    }
}
