import Foundation
import Testing

@testable import AccountImport

@Suite("Times in old files")
struct LegacyDateTests {
    @Test("Reads dates in old files like Foundation")
    func agreesWithFoundation() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        for year in [1600, 1900, 1969, 1970, 1999, 2000, 2004, 2015, 2023, 2024, 2038, 2100, 2400, 9999] {
            for (month, day) in [(1, 1), (2, 28), (3, 1), (12, 31)] {
                let components = DateComponents(year: year, month: month, day: day, hour: 23, minute: 59, second: 58)
                let text = String(format: "%04d-%02d-%02d 23:59:58", year, month, day)
                #expect(LegacyDate.date(text) == calendar.date(from: components), "\(text)")
            }
        }
        #expect(LegacyDate.date("0001-01-01") == Date(timeIntervalSince1970: -62_135_596_800))
        #expect(LegacyDate.date("2024-02-29") == Date(timeIntervalSince1970: 1_709_164_800))
    }

    @Test(
        "Rejects an invalid time in an old file",
        arguments: [
            "", " ", "soon", "2015", "2015-11", "15-11-23", "2015/11/23", "٢٠١٥-١١-٢٣", "2015-13-01", "2015-00-01",
            "2015-02-29", "1900-02-29", "2015-11-31", "2015-11-00", "0000-01-01", "2015-11-23 ", "2015-11-23 08:15",
            "2015-11-23 24:00:00", "2015-11-23 00:60:00", "2015-11-23 00:00:60", "2015-11-23T00:00:00.",
            "2015-11-23T00:00:00X", "2015-11-23T00:00:00+08", "2015-11-23T00:00:00+25:00", "2015-11-23 08:15:00Zx",
            "20151123", "99999999", "1448266500000", "-1448266500",
        ])
    func refuses(text: String) {
        #expect(LegacyDate.date(text) == nil)
    }

    @Test("Reads a time in seconds up to the year 9999, but not in milliseconds")
    func readsSeconds() {
        #expect(LegacyDate.unixDate(0) == Date(timeIntervalSince1970: 0))
        #expect(LegacyDate.unixDate(1_448_266_500.5) == Date(timeIntervalSince1970: 1_448_266_500.5))
        for seconds in [-1, 1_448_266_500_000, Double.infinity, -Double.infinity, Double.nan] {
            #expect(LegacyDate.unixDate(seconds) == nil)
        }
        #expect(LegacyDate.date("1448266500") == Date(timeIntervalSince1970: 1_448_266_500))
    }
}
