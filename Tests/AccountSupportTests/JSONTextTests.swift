import Testing

@testable import AccountSupport

struct JSONTextTests {
    private func text(_ string: String) -> JSONText? { JSONText(Array(string.utf8)) }

    private func string(_ text: JSONText?) -> String? { text.map { String(decoding: $0.bytes, as: UTF8.self) } }

    @Test(arguments: [
        "null", " true\n", "false", "0", "-0.5e+10", "12345678901234567890123", #""""#, #""a\"\\\/\b\f\n\r\t\u00e9b""#,
        "[]", "{}", "[1,[2,{}],{\"a\":[]}]", #"{"a":1,"a":{"b":[null,true]}}"#, #""grüße 😀""#, "[ 1 , 2 ]",
        #"{ "a" : 1 , "b" : 2 }"#,
    ])
    func `Accepts valid JSON`(json: String) {
        #expect(text(json) != nil)
    }

    @Test(arguments: [
        "", " ", "nul", "True", "01", "1.", ".5", "+1", "1e", "-", #"""#, #""\x""#, #""\u12g4""#, "\"\n\"", "[1,]",
        "[,1]",
        "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{1:2}", "[}", "[1]]", "{\"a\":1}{", "1 2", "'a'",
        "// c\n1",
    ])
    func `Rejects invalid JSON`(json: String) {
        #expect(text(json) == nil)
    }

    @Test func `Rejects bytes that are not UTF-8`() {
        #expect(JSONText([0x22, 0xFF, 0x22]) == nil)
        #expect(JSONText([0x22, 0xC3, 0xA9, 0x22]) != nil)
    }

    @Test func `Limits the depth without using the stack`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(text(nested(512)) != nil)
        #expect(text(nested(513)) == nil)
        #expect(text(String(repeating: "[", count: 1 << 20)) == nil)
        let deep = JSONText(Array("[1,\(nested(1000))]".utf8)[...], depthLimit: .max)
        #expect(deep?.elements.count == 2)
    }

    @Test(
        arguments: [
            ("", ""), ("[1,\n2]", "[1,\n2]"), ("{\"a\":\n\"b\tc\"}", #"{"a":\#u{A}"b\u0009c"}"#),
            ("\"\u{1F}\"", #""\u001f""#),
            (#""\\" "#, #""\\" "#), ("\"\\\"\n\"\n", #""\"\u000a"\#u{A}"#), ("\"é\"", "\"é\""),
        ])
    func `Escapes control characters in strings only`(json: String, repaired: String) {
        #expect(JSONText.repairingStrings(of: Array(json.utf8)) == Array(repaired.utf8))
    }

    @Test func `Replaces bytes that are not UTF-8`() {
        #expect(JSONText.repairingStrings(of: [0x22, 0xFF, 0x22]) == Array("\"\u{FFFD}\"".utf8))
        // A cut character does not swallow the end of the string.
        #expect(JSONText.repairingStrings(of: [0x22, 0xE2, 0x82, 0x22]) == Array("\"\u{FFFD}\"".utf8))
    }

    @Test func `Finds members, of which the last counts`() {
        let object = text(#"{"a": 1, "b\u0063": [ "x" , {"y":2} ], "a": "z"}"#)
        #expect(object?["a"]?.string == "z")
        #expect(string(object?["bc"]?.elements.last?["y"]) == "2")
        #expect(object?["none"] == nil)
        #expect(object?.members.map(\.name.string) == ["a", "bc", "a"])
    }

    @Test(arguments: [
        (#""ab""#, true), (#""\u0061b""#, true), (#""abc""#, false), (#""a""#, false), (#""\b""#, false), ("1", false),
    ])
    func `Compares a string with a text`(json: String, isSame: Bool) {
        #expect(text(json)?.isString("ab") == isSame)
    }

    @Test func `Decodes escapes in strings`() {
        #expect(text(#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00ü""#)?.string == "a\"\\/\u{8}\u{C}\n\r\té😀ü")
        #expect(text(#""\ud83d""#)?.string == nil)
    }

    @Test(arguments: ["", "plain", "quote \" backslash \\ slash /", "line\nbreak\t\u{1}", "grüße 😀"])
    func `Reads the strings that it writes`(string: String) {
        let text = JSONText(string: string)
        #expect(JSONText(Array(text.bytes))?.string == string)
    }

    @Test func `Replaces a member and keeps the other text`() {
        let object = text(#"{ "a" : 1.0 , "b":[ 2 ] }"#)
        let changed = object?.setting("b", to: JSONText(integer: 7))
        #expect(string(changed) == #"{ "a" : 1.0 , "b":7 }"#)
    }

    @Test(
        arguments: [
            ("", []), (#""a""#, []), (#""\ud83d\ude00""#, []), (#""\uD83D\uDE00\uDE00""#, [13]), (#""\ud83d""#, [1]),
            (#""a\ud83dx\ude00""#, [2, 9]), (#""\ude00\ud83d""#, [1, 7]), (#""\ud83d\ud83d\ude00""#, [1]),
            (#""\ud83d\n\ude00""#, [1, 9]), (#""\\ud83d""#, []), (#""\\\ud83d""#, [3]), (#""\ud8"#, []), ("\\", []),
            (#""\u00e9\n\"\\""#, []),
        ] as [(String, [Int])])
    func `Finds each half of a surrogate pair`(text: String, places: [Int]) {
        #expect(Array(text.utf8).withUnsafeBytes { JSONReader.loneSurrogates(in: $0) } == places)
    }
}
