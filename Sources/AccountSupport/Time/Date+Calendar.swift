extension Date {
    /// Creates a date in the proleptic Gregorian calendar and UTC. Returns `nil` if the day does not exist. The caller
    /// must check the time. This initializer does not use `Calendar`, which uses the Julian calendar before 1582 and
    /// converts 30 February to 2 March.
    package init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let dayCounts = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year >= 1, 1...12 ~= month, 1...dayCounts[month - 1] ~= day else { return nil }
        let yearsBefore = year - 1
        let days =
            yearsBefore * 365 + yearsBefore / 4 - yearsBefore / 100 + yearsBefore / 400
            + dayCounts.prefix(month - 1).reduce(0, +) + day - 1
        // The days from 1 January of the year 1 to 1 January 1970.
        let seconds = (days - 719_162) * 86_400 + hour * 3600 + minute * 60 + second
        self.init(timeIntervalSince1970: Double(seconds))
    }
}
