#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Formats dates for the user, either in the local time zone or relative to the current time.
///
/// JSON and files contain ISO 8601 dates in UTC instead.
package enum LocalTime {
    /// Formats a date in the local time zone, for example as "2026-11-26 15:02".
    package static func text(of date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        tzset()
        guard localtime_r(&seconds, &parts) != nil else { return date.formatted(.iso8601) }
        let day = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)].map(twoDigits)
        return day.joined(separator: "-") + " " + twoDigits(Int(parts.tm_hour)) + ":" + twoDigits(Int(parts.tm_min))
    }

    /// Formats a date as the time before or after the current time, such as "just now", "2 min ago" or "in 58 min". If
    /// the date is more than two days away, the text is for example "on 2026-11-20 15:02".
    package static func relativeText(of date: Date, to now: Date) -> String {
        let distance = date.timeIntervalSince(now)
        guard abs(distance) < 2 * 86_400 else { return "on " + text(of: date) }
        let duration = Duration.seconds(Int64(abs(distance).rounded()))
        if distance > 0 { return "in " + duration.text }
        return duration < .seconds(60) ? "just now" : duration.text + " ago"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
