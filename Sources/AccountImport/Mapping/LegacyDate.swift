import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum LegacyDate {
    /// Returns the date for a number of seconds since 1970. Returns `nil` outside the years 1970 to 9999, for example
    /// for a number of milliseconds.
    static func unixDate(_ seconds: Double) -> Date? {
        (0.0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    /// Whether the date is in the years 1 to 9999, which ISO 8601 can represent.
    static func isInCalendar(_ date: Date) -> Bool {
        (-62_135_596_800.0..<253_402_300_800).contains(date.timeIntervalSince1970)
    }

    /// Parses a text as a date. A string of 9 to 12 digits is a number of seconds since 1970. A shorter string of
    /// digits is not valid, because it may be `yyyyMMdd`.
    static func date(_ text: String) -> Date? {
        if text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return (9...12).contains(text.utf8.count) ? Double(text).flatMap(unixDate) : nil
        }
        return calendarDate(text)
    }

    /// Parses `yyyy-MM-dd`, with or without ` HH:mm:ss` or `THH:mm:ss`, a fraction, and `Z` or an offset such as
    /// `+08:00`. Without an offset, the time is UTC.
    static func calendarDate(_ text: String) -> Date? {
        let form =
            #/
            (?<year> [0-9]{4}) - (?<month> [0-9]{2}) - (?<day> [0-9]{2})
            (?: [\ T] (?<hour> [0-9]{2}) : (?<minute> [0-9]{2}) : (?<second> [0-9]{2}) (?<fraction> \.[0-9]{1,9})?
            (?: Z | (?<sign> [+\-]) (?<offsetHours> [0-9]{2}) :? (?<offsetMinutes> [0-9]{2}) )? )?
            /#
        guard let match = text.wholeMatch(of: form)?.output else { return nil }
        let number = { (digits: Substring?) in digits.flatMap { Int($0) } ?? 0 }
        let (hour, minute, second) = (number(match.hour), number(match.minute), number(match.second))
        let (offsetHours, offsetMinutes) = (number(match.offsetHours), number(match.offsetMinutes))
        guard hour < 24, minute < 60, second < 60, offsetHours < 24, offsetMinutes < 60,
            let date = Date(
                year: number(match.year), month: number(match.month), day: number(match.day), hour: hour,
                minute: minute, second: second)
        else { return nil }
        let fraction = match.fraction.flatMap { Double("0" + $0) } ?? 0
        let offset = Double(offsetHours * 3600 + offsetMinutes * 60)
        return date + fraction - (match.sign == "-" ? -offset : offset)
    }
}
