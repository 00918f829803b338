import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

struct MetadataLifetimeTests {
    private static let date = "Fri, 15 Jan 2027 08:00:00 GMT"

    private func lifetime(_ headers: KeyValuePairs<String, String>) -> TimeInterval? {
        MetadataLifetime.end(of: ServiceResponse(200, headers))?.timeIntervalSince(FixedClock().now)
    }

    @Test func `Metadata without a lifetime is fresh for an hour`() {
        #expect(lifetime([:]) == 3600)
        #expect(lifetime(["Cache-Control": "public"]) == 3600)
        #expect(lifetime(["Cache-Control": ""]) == 3600)
    }

    @Test(
        arguments: [
            ("max-age=60", 60), ("public, max-age=60", 60), ("private,MAX-AGE=60,must-revalidate", 60),
            ("max-age=\"60\"", 60), ("max-age=60, max-age=30", 30), ("max-age=86400", 86_400),
            ("max-age=86401", 86_400), ("max-age=99999999999999999999999999", 86_400), ("max-age=0", nil),
            ("max-age=", nil), ("max-age=-1", nil), ("max-age=1h", nil), ("max-age=٣", nil), ("no-store", nil),
            ("max-age=60, No-Store", nil), ("no-cache", nil), ("no-cache=\"Set-Cookie\", max-age=60", nil),
            // Only a shared cache uses this value.
            ("s-maxage=60", 3600),
        ] as [(String, TimeInterval?)])
    func `Reads the lifetime from Cache-Control`(value: String, expected: TimeInterval?) {
        #expect(lifetime(["Cache-Control": value]) == expected)
    }

    @Test func `Combines the directives of several Cache-Control fields`() {
        #expect(lifetime(["Cache-Control": "public", "cache-control": "max-age=60"]) == 60)
        #expect(lifetime(["Cache-Control": "max-age=60", "cache-control": "no-store"]) == nil)
    }

    @Test(
        arguments: [
            ("Fri, 15 Jan 2027 08:01:00 GMT", 60), ("Fri, 15 Jan 2027 08:00:00 GMT", nil),
            ("Thu, 14 Jan 2027 08:00:00 GMT", nil), ("Fri, 15 Jan 2038 08:00:00 GMT", 86_400), ("0", nil), ("", nil),
        ] as [(String, TimeInterval?)])
    func `Measures Expires from the response's Date field`(value: String, expected: TimeInterval?) {
        #expect(lifetime(["Expires": value, "Date": Self.date]) == expected)
        #expect(lifetime(["Expires": value]) == expected)
    }

    @Test func `Measures Expires by the clock of the service`() {
        let headers: KeyValuePairs = [
            "Expires": "Fri, 15 Jan 2027 09:01:00 GMT", "Date": "Fri, 15 Jan 2027 09:00:00 GMT",
        ]
        #expect(lifetime(headers) == 60)
    }

    @Test func `Prefers max-age to Expires`() {
        #expect(lifetime(["Expires": "0", "Cache-Control": "max-age=60"]) == 60)
    }

    @Test(arguments: [("0", 60), ("20", 40), ("60", nil), ("old", nil)] as [(String, TimeInterval?)])
    func `Subtracts the age that a proxy reports`(age: String, expected: TimeInterval?) {
        #expect(lifetime(["Cache-Control": "max-age=60", "Age": age]) == expected)
    }
}
