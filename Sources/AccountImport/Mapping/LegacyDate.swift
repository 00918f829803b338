import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the forms in which older apps kept a time.
enum LegacyDate {
    /// `nil` outside of the years 1970 to 9999: milliseconds, for example.
    static func unixDate(_ seconds: Double) -> Date? {
        (0.0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    /// In the years 1 to 9999, which ISO 8601 can write.
    static func isInCalendar(_ date: Date) -> Bool {
        (-62_135_596_800.0..<253_402_300_800).contains(date.timeIntervalSince1970)
    }

    /// Of digits only 9 to 12 are seconds since 1970: fewer may be `yyyyMMdd`.
    static func date(_ text: String) -> Date? {
        if text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return (9...12).contains(text.utf8.count) ? Double(text).flatMap(unixDate) : nil
        }
        return calendarDate(text)
    }

    /// `yyyy-MM-dd`, with or without ` HH:mm:ss` or `THH:mm:ss`, a fraction, and `Z` or an offset such as `+08:00`; UTC
    /// where no offset stands there.
    static func calendarDate(_ text: String) -> Date? {
        var rest = Array(text.utf8)[...]
        guard let year = number(4, &rest), skip("-", &rest), let month = number(2, &rest), skip("-", &rest),
            let day = number(2, &rest), var date = Date(year: year, month: month, day: day)
        else { return nil }
        if rest.isEmpty { return date }

        guard skip(" ", &rest) || skip("T", &rest), let hour = number(2, &rest), skip(":", &rest),
            let minute = number(2, &rest), skip(":", &rest), let second = number(2, &rest),
            hour < 24, minute < 60, second < 60
        else { return nil }
        date += Double(hour * 3600 + minute * 60 + second)
        if skip(".", &rest) {
            guard let fraction = fraction(&rest) else { return nil }
            date += fraction
        }
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        return date - Double(offset)
    }

    private static func number(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func skip(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Double? {
        let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard (1...9).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return Double("0." + String(decoding: digits, as: UTF8.self))
    }

    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if rest.isEmpty || skip("Z", &rest) { return 0 }
        let sign = skip("+", &rest) ? 1 : skip("-", &rest) ? -1 : 0
        guard sign != 0, let hours = number(2, &rest) else { return nil }
        _ = skip(":", &rest)
        guard let minutes = number(2, &rest), hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
