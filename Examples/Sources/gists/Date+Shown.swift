import Foundation

extension Date {
    /// `14:02` for a date of today, otherwise `2026-11-22 14:02`. Loading localized formats would take longer than the
    /// rest of a command.
    var shown: String {
        var (seconds, now) = (time_t(timeIntervalSince1970), time(nil))
        var (parts, today) = (tm(), tm())
        localtime_r(&seconds, &parts)
        localtime_r(&now, &today)
        let isToday = parts.tm_yday == today.tm_yday && parts.tm_year == today.tm_year
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, isToday ? "%H:%M" : "%Y-%m-%d %H:%M", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
