/// Parses the dates of HTTP header fields in all three formats that a recipient must accept (RFC 9110, section 5.6.7). The
/// names of the months and of the zone may be in any case, and the zone may be another name of UTC.
package enum HTTPDate {
    package static func date(from text: String) -> Date? {
        guard text.utf8.count <= 40 else { return nil }
        let parts = text.split { " ,-:".contains($0) }
        switch parts.count {
        // Sun, 06 Nov 1994 08:49:37 GMT, and the older Sunday, 06-Nov-94 08:49:37 GMT
        case 8 where zones.contains(parts[7].uppercased()):
            return date(year: parts[3], month: parts[2], day: parts[1], time: parts[4...6])
        // Sun Nov  6 08:49:37 1994
        case 7:
            return date(year: parts[6], month: parts[1], day: parts[2], time: parts[3...5])
        default:
            return nil
        }
    }

    private static func date(year: Substring, month: Substring, day: Substring, time: ArraySlice<Substring>) -> Date? {
        let time = time.compactMap { number($0, digits: 2...2) }
        guard let month = months.firstIndex(of: month.lowercased()), let day = number(day, digits: 1...2),
            var fullYear = number(year, digits: 2...4), year.utf8.count != 3, time.count == 3, time[0] < 24,
            time[1] < 60, time[2] <= 60
        else { return nil }
        if year.utf8.count == 2 { fullYear += fullYear < 70 ? 2000 : 1900 }
        return Date(year: fullYear, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// The names of UTC. The sign of `-0000` separates words here.
    private static let zones = ["GMT", "UTC", "UT", "Z", "+0000", "0000"]

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits ~= text.utf8.count, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
        return Int(text)
    }
}
