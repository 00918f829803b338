import AccountSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The meaning of values that services write in another JSON type than the standards require.
struct JSONMeaningTests {
    private func value(_ text: String) throws -> JSONValue? {
        try #require(JSONValue.object(from: Array(#"{"x":\#(text)}"#.utf8)))["x"]
    }

    @Test(
        arguments: [
            ("5", 5), ("3.9", 3), ("-0.5", -1), ("3.6e3", 3600), (#""5""#, 5), (#"" 5 ""#, 5), (#""5\n""#, 5),
            (#""3.9""#, 3),
            (#""3600.0""#, 3600), (#""3.6e3""#, 3600), (#""3.6E+3""#, 3600), (#""-5""#, -5), (#""+5""#, 5),
            (#""007""#, 7),
            (#""""#, nil), (#"" ""#, nil), (#""5 s""#, nil), (#""5,0""#, nil), (#""0x5""#, nil), (#""nan""#, nil),
            (#""infinity""#, nil), (#""5.""#, nil), (#"".5""#, nil), (#""e5""#, nil), (#""5e""#, nil), (#""--5""#, nil),
            (#""1e999""#, nil), (#""٣""#, nil), ("1e300", nil), ("true", nil), ("null", nil), ("[5]", nil), ("{}", nil),
        ] as [(String, Int64?)])
    func `Reads a number also from a string, and rounds it down`(text: String, expected: Int64?) throws {
        #expect(try value(text)?.wholeSeconds == expected)
    }

    @Test(
        arguments: [
            ("true", true), ("false", false), (#""true""#, true), (#""False""#, false), (#"" TRUE\n""#, true),
            ("1", true),
            ("0", false), (#""1""#, true), (#""0""#, false), ("2", nil), (#""yes""#, nil), (#""""#, nil), ("null", nil),
            ("[true]", nil), ("0.5", nil),
        ] as [(String, Bool?)])
    func `Reads a boolean also from a string or from 0 and 1`(text: String, expected: Bool?) throws {
        #expect(try value(text)?.flag == expected)
    }

    @Test(
        arguments: [
            (#"["a","b"]"#, ["a", "b"]), (#""a""#, ["a"]), (#""a b""#, ["a b"]), ("7", ["7"]),
            (#"["a",7,null,{}]"#, ["a", "7"]),
            ("[]", []), (#""""#, nil), ("null", nil), ("{}", nil), ("true", nil), ("1.5", nil),
        ] as [(String, [String]?)])
    func `Reads a list also from one value`(text: String, expected: [String]?) throws {
        #expect(try value(text)?.list == expected)
    }

    @Test func `Reads the words of a list also from one string`() throws {
        for text in [#"["a","b"]"#, #""a b""#, #"" a\n b ""#, #"["a b"]"#] {
            #expect(try value(text)?.words == ["a", "b"])
        }
    }

    @Test(
        arguments: [
            ("1800000000", 1_800_000_000), (#""1800000000""#, 1_800_000_000), ("1800000000.5", 1_800_000_000.5),
            (#""2027-01-15T08:00:00Z""#, 1_800_000_000), (#""2027-01-15T08:00:00.250Z""#, 1_800_000_000.25),
            (#""2027-01-15 08:00:00 UTC""#, 1_800_000_000), (#""2027-01-15T09:30:00+01:30""#, 1_800_000_000),
            (#""2027-01-15t03:00-0500""#, 1_800_000_000), (#"" 2027-01-15T08:00:00+00 ""#, 1_800_000_000),
            (#""Fri, 15 Jan 2027 08:00:00 GMT""#, 1_800_000_000), ("0", 0),
            // Without a time zone, without a time, impossible, or in milliseconds.
            (#""2027-01-15T08:00:00""#, nil), (#""2027-01-15""#, nil), (#""2027-02-30T08:00:00Z""#, nil),
            (#""2027-01-15T24:00:00Z""#, nil), (#""2027-01-15T08:00:00+25:00""#, nil),
            (#""2027-01-15T08:00:00 CET""#, nil),
            (#""15.01.2027 08:00""#, nil), (#""never""#, nil), ("-1", nil), ("1800000000000000", nil), ("true", nil),
        ] as [(String, Double?)])
    func `Reads a date also from a string, and as text`(text: String, expected: Double?) throws {
        #expect(try value(text)?.date == expected.map { Date(timeIntervalSince1970: $0) })
    }
}
