import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP
import AccountSupport

@Suite("The expiry inside a token")
struct TokenExpiryTests {
    /// 2027-01-15 08:00:00, the time of the fixed clock.
    private static let now = 1_800_000_000

    private func expiry(_ payload: String, _ headers: KeyValuePairs<String, String> = [:], clock: Int = now) -> Date? {
        let response = ServiceResponse(200, headers, at: Date(timeIntervalSince1970: Double(clock)))
        return TokenExpiry.date(in: [:], accessToken: jsonWebToken(payload), response: response)
    }

    @Test(
        "Accepts an expiry inside a token only in the near future",
        arguments: [
            (#"{"exp":1800003600}"#, 3600.0), (#"{"exp":1800003600.5}"#, 3600.5), (#"{"exp":2115360000}"#, 315_360_000),
            (#"{"exp":2115360001}"#, nil), (#"{"exp":1800000000}"#, nil), (#"{"exp":1799999999}"#, nil),
            (#"{"exp":1800003600000}"#, nil), (#"{"exp":"1800003600"}"#, 3600), (#"{"exp":null}"#, nil),
            (#"{"exp":-1}"#, nil), (#"{"exp":1e300}"#, nil), ("{}", nil), ("[]", nil), ("no JSON", nil),
        ])
    func claim(_ payload: String, _ lifetime: Double?) {
        #expect(expiry(payload) == lifetime.map { FixedClock().now.addingTimeInterval($0) })
    }

    @Test("Measures the expiry inside a token from the service's date")
    func clockOffset() {
        let date: KeyValuePairs = ["Date": "Fri, 15 Jan 2027 08:00:00 GMT"]
        #expect(expiry(#"{"exp":1800000060}"#, date, clock: 1_000) == Date(timeIntervalSince1970: 1_060))
        #expect(
            expiry(#"{"exp":1800000060}"#, date, clock: 1_900_000_000) == Date(timeIntervalSince1970: 1_900_000_060))
    }

    @Test("Prefers expires_in to the expiry inside a token")
    func expiresIn() {
        let token = jsonWebToken(#"{"exp":1800003600}"#)
        let response = ServiceResponse(200)
        #expect(
            TokenExpiry.date(in: ["expires_in": .integer(5)], accessToken: token, response: response)
                == FixedClock().now.addingTimeInterval(5))
        #expect(
            TokenExpiry.date(in: ["expires_in": .integer(-5)], accessToken: token, response: response)
                == FixedClock().now.addingTimeInterval(3600))
    }

    @Test(
        arguments: [
            ("expires_at", .integer(1_800_003_600), 3600), ("expires_at", .string("1800003600"), 3600),
            ("expires_on", .string("1800003600"), 3600), ("expires_at", .string("2027-01-15T09:00:00Z"), 3600),
            ("expires_at", .string("2027-01-15 10:00:00.5+0100"), 3600.5),
            ("expires_on", .string("Fri, 15 Jan 2027 09:00:00 GMT"), 3600),
            ("expires_in", .integer(1_800_003_600), 3600), ("expires_in", .string("2027-01-15T09:00:00Z"), 3600),
            ("expires", .integer(3600), 3600), ("expires", .string("3600"), 3600),
            ("expires", .string("Fri, 15 Jan 2027 09:00:00 GMT"), 3600), ("expires", .integer(0), nil),
            ("expiry", .string("2027-01-15T09:00:00Z"), 3600),
            // A date without a time zone, in the past, or in milliseconds.
            ("expires_at", .string("2027-01-15T09:00:00"), nil), ("expires_at", .integer(1_799_999_999), nil),
            ("expires_at", .integer(1_800_003_600_000), nil), ("expires_at", .boolean(true), nil),
        ] as [(String, JSONValue, Double?)])
    func `Reads the date that some services send in place of a lifetime`(
        name: String, value: JSONValue, lifetime: Double?
    ) {
        let expected = lifetime.map { FixedClock().now.addingTimeInterval($0) }
        let response = ServiceResponse(200)
        #expect(TokenExpiry.date(in: [name: value], accessToken: Secret("t"), response: response) == expected)
        guard name != "expires_in" else { return }
        let both: JSONObject = [name: value, "expires_in": .integer(5)]
        #expect(
            TokenExpiry.date(in: both, accessToken: Secret("t"), response: response)
                == FixedClock().now.addingTimeInterval(5))
    }
}
