/// Parses the dates that services write as text: those of HTTP (RFC 9110, section 5.6.7) and of RFC 3339, section 5.6,
/// such as `2027-01-15T08:00:00Z`, also with a space in place of `T`, without seconds, and with an offset such as `+0100`.
/// A date without an offset counts as no date, because its time zone is unknown.
package enum Timestamp {
    package static func date(from text: String) -> Date? {
        let text = text.trimmed
        return HTTPDate.date(from: text) ?? internetDate(from: text)
    }

    private static func internetDate(from text: String) -> Date? {
        guard text.utf8.count <= 40 else { return nil }
        var rest = text.uppercased()[...]
        guard let year = number(&rest, digits: 4), take("-", &rest), let month = number(&rest, digits: 2),
            take("-", &rest), let day = number(&rest, digits: 2), take("T", &rest) || take(" ", &rest),
            let hour = number(&rest, digits: 2), hour < 24, take(":", &rest), let minute = number(&rest, digits: 2),
            minute < 60
        else { return nil }
        var second = 0
        var fraction = 0.0
        if take(":", &rest) {
            guard let whole = number(&rest, digits: 2), whole <= 60 else { return nil }
            second = whole
            if take(".", &rest) || take(",", &rest) {
                let digits = rest.prefix { $0.isASCII && $0.isNumber }
                guard !digits.isEmpty, let value = Double("0." + digits) else { return nil }
                fraction = value
                rest = rest.dropFirst(digits.count)
            }
        }
        _ = take(" ", &rest)
        guard let offset = offset(rest) else { return nil }
        return Date(year: year, month: month, day: day, hour: hour, minute: minute, second: second)?
            .addingTimeInterval(fraction - Double(offset))
    }

    /// Returns the offset from UTC in seconds.
    private static func offset(_ text: Substring) -> Int? {
        if ["Z", "UTC", "GMT"].contains(text) { return 0 }
        var rest = text
        let sign = take("-", &rest) ? -1 : 1
        guard sign < 0 || take("+", &rest), let hours = number(&rest, digits: 2), hours < 24 else { return nil }
        if rest.isEmpty { return sign * hours * 3600 }
        _ = take(":", &rest)
        guard let minutes = number(&rest, digits: 2), minutes < 60, rest.isEmpty else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private static func take(_ mark: Character, _ text: inout Substring) -> Bool {
        guard text.first == mark else { return false }
        text.removeFirst()
        return true
    }

    private static func number(_ text: inout Substring, digits: Int) -> Int? {
        let found = text.prefix(digits)
        guard found.utf8.count == digits, found.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
        text = text.dropFirst(digits)
        return Int(found)
    }
}
