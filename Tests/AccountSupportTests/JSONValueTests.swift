import AccountSupport
import Testing

@Suite struct JSONValueTests {
    @Test func `Limits the depth and the number of values of JSON`() {
        func isRead(_ body: String) -> Bool { JSONValue.object(from: Array(body.utf8)) != nil }
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        }
        func list(_ count: Int) -> String { #"{"a":["# + String(repeating: "1,", count: count) + "1]}" }
        #expect(isRead(nested(32)))
        #expect(!isRead(nested(33)))
        #expect(!isRead(String(repeating: "[", count: 1_000_000)))
        #expect(isRead(list(9000)))
        #expect(!isRead(list(10_000)))
        // Brackets and commas inside strings do not count.
        #expect(isRead(#"{"a":"\""# + String(repeating: #"[{,\\"#, count: 20_000) + #""}"#))
    }

    @Test func `Reads JSON from any collection of bytes`() {
        let text = #"{"a":[1,2.5,true,null,{"b":"c"}]}"#
        let expected: JSONObject = [
            "a": .array([.integer(1), .real(2.5), .boolean(true), .null, .object(["b": .string("c")])])
        ]
        #expect(JSONValue.object(from: Array(text.utf8)) == expected)
        #expect(JSONValue.object(from: Array(text.utf8).lazy.map { $0 }) == expected)
        #expect(JSONValue.object(from: [UInt8]()) == nil)
    }

    @Test(
        arguments: [
            ("0", .integer(0)), ("-7", .integer(-7)), ("1.0", .integer(1)), ("1e3", .integer(1000)),
            ("2.5", .real(2.5)),
            ("9223372036854775807", .integer(.max)), ("9223372036854775808", .real(0x1p63)), ("1e400", nil),
            (#""a\n\ud83d\ude00""#, .string("a\n😀")), (#""\ud83d""#, nil), ("true", .boolean(true)), ("null", .null),
            (" [ ] ", .array([])), ("{}", .object([:])), ("1 2", nil), ("", nil), ("tru", nil), ("[1,]", nil),
            ("\u{FEFF}[1]", .array([.integer(1)])), (#"{"a":1,"a":2}"#, .object(["a": .integer(1)])),
        ] as [(String, JSONValue?)])
    func `Reads each kind of value`(text: String, value: JSONValue?) {
        #expect(Array(text.utf8).withUnsafeBytes { JSONValue($0) } == value)
    }

    @Test func `Replaces bytes that are not UTF-8`() {
        #expect(JSONValue.object(from: Array(#"{"a":"M"#.utf8) + [0xFC, 0x22, 0x7D]) == ["a": .string("M\u{FFFD}")])
    }

    @Test(arguments: [
        (#"{"a":1,"b":[true,null,"x",1.5]}"#, #"{ "b": [true, null, "x", 1.5], "a": 1 }"#, true),
        (#"{"a":1}"#, #"{"a":2}"#, false), (#"{"a":1}"#, #"{"a":"1"}"#, false), (#"{"a":null}"#, "{}", false),
        ("[1,2]", "[2,1]", false), (#"{"a":9007199254740993}"#, #"{"a":9007199254740992}"#, false),
        (#"{"a":true}"#, #"{"a":1}"#, false),
    ])
    func `Compares JSON by its content`(one: String, other: String, isSame: Bool) throws {
        let values = try [one, other].map { text in
            try #require(Array(text.utf8).withUnsafeBytes { JSONValue($0) })
        }
        #expect((values[0] == values[1]) == isSame)
    }
}
