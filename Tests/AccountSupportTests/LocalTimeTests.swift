import AccountSupport
import Foundation
import Testing

@Suite struct LocalTimeTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static let times: [(seconds: Double, text: String)] = [
        (0, "just now"), (-59, "just now"), (-60, "60 s ago"), (-125, "2 min ago"), (-7300, "2 h ago"),
        (1, "in 1 s"), (90, "in 90 s"), (58 * 60, "in 58 min"), (8 * 3600, "in 8 h"),
    ]

    @Test(arguments: times)
    func `Formats a time within two days relative to now`(seconds: Double, text: String) {
        #expect(LocalTime.relativeText(of: now.addingTimeInterval(seconds), to: now) == text)
    }

    @Test(arguments: [-2.0, 2, 400]) func `Formats a time more than two days away with its date`(days: Double) {
        let date = now.addingTimeInterval(days * 86_400)
        #expect(LocalTime.relativeText(of: date, to: now) == "on " + LocalTime.text(of: date))
    }

    @Test func `Formats a date in the local time zone`() {
        let parts = Calendar.current.dateComponents([.year, .month, .day, .hour, .minute], from: now)
        func digits(_ number: Int?) -> String { String(format: "%02d", number ?? -1) }
        let text =
            "\(digits(parts.year))-\(digits(parts.month))-\(digits(parts.day)) \(digits(parts.hour)):\(digits(parts.minute))"
        #expect(LocalTime.text(of: now) == text)
    }
}
