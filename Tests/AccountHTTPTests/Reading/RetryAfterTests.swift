import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP
import AccountSupport

@Suite("Retry-After and dates")
struct RetryAfterTests {
    private static let date = "Fri, 15 Jan 2027 08:00:00 GMT"

    @Test(
        "Reads a Retry-After delay in seconds",
        arguments: [
            ("0", Duration.zero), ("1", .seconds(1)), (" 120 ", .seconds(120)), ("86400", .seconds(86_400)),
            ("86401", .seconds(86_400)), ("99999999999999999999999999", .seconds(86_400)), ("-5", .zero),
            ("-99999999999999999999999999", .zero), ("1.5", .seconds(2)), ("120.0", .seconds(120)),
            ("1e3", .seconds(1000)),
            ("1, 2", .seconds(2)), ("", nil), ("-", nil), ("soon", nil), ("1, soon", nil), ("1h", nil), ("٣", nil),
        ])
    func seconds(_ value: String, _ expected: Duration?) {
        #expect(RetryAfter.duration(in: ServiceResponse(503, ["Retry-After": value])) == expected)
    }

    @Test(
        "Measures a Retry-After date from the response's Date field",
        arguments: [
            ("Fri, 15 Jan 2027 08:01:30 GMT", Duration.seconds(90)), ("Fri, 15 Jan 2027 07:00:00 GMT", .zero),
            ("Fri, 15 Jan 2038 08:00:00 GMT", .seconds(86_400)), ("2027-01-15T08:01:30Z", .seconds(90)),
            ("Fri, 15 Jan 2027 08:01:30 +0000", .seconds(90)), ("2027-01-15T09:01:30+01:00", .seconds(90)),
        ])
    func date(_ value: String, _ expected: Duration) {
        let wrongClock = Date(timeIntervalSince1970: 0)
        let response = ServiceResponse(503, ["Retry-After": value, "Date": Self.date], at: wrongClock)
        #expect(RetryAfter.duration(in: response) == expected)
    }

    @Test("Measures a Retry-After date from the local clock without a Date field")
    func dateWithoutDate() {
        let response = ServiceResponse(
            503, ["Retry-After": "Fri, 15 Jan 2027 08:00:10 GMT"], at: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(RetryAfter.duration(in: response) == .seconds(10))
    }

    @Test(
        "Reads all three HTTP date formats",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("sun, 06 NOV 1994 08:49:37 utc", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 -0000", 784_111_777), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ])
    func forms(_ text: String, _ expected: Double) {
        #expect(HTTPDate.date(from: text) == Date(timeIntervalSince1970: expected))
    }

    @Test(
        "Rejects an invalid HTTP date",
        arguments: [
            "", "now", "2027-01-15T08:00:00Z", "Fri, 15 Jan 2027 08:00:00 CET", "Fri, 15 Foo 2027 08:00:00 GMT",
            "Fri, 00 Jan 2027 08:00:00 GMT", "Fri, 32 Jan 2027 08:00:00 GMT", "Fri, 15 Jan 2027 24:00:00 GMT",
            "Fri, 15 Jan 2027 08:60:00 GMT", "Fri, 15 Jan 20270 08:00:00 GMT", "Fri, 15 Jan 207 08:00:00 GMT",
            "Fri, 15 Jan +027 08:00:00 GMT", String(repeating: "1 ", count: 10_000),
        ])
    func noDate(_ text: String) {
        #expect(HTTPDate.date(from: text) == nil)
    }
}
