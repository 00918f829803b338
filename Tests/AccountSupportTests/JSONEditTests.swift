import Testing

@testable import AccountSupport

struct JSONEditTests {
    private func edited(_ text: String, _ change: (inout JSONEdit) throws -> Void) throws -> String {
        var edit = try #require(JSONEdit(Array(text.utf8)))
        try change(&edit)
        #expect(JSONText(edit.text) != nil, "\(String(decoding: edit.text, as: UTF8.self))")
        return String(decoding: edit.text, as: UTF8.self)
    }

    private static let helper = JSONEdit.Value.string("account")

    @Test(arguments: [
        ("", "{\n  \"h\": {\n    \"ghcr.io\": \"account\"\n  }\n}\n"),
        ("{}", "{\n  \"h\": {\n    \"ghcr.io\": \"account\"\n  }\n}"),
        (
            "{\n\t\"b\": 1.50,\n\t\"h\": {\n\t\t\"x\": \"y\"\n\t},\n\t\"a\": []\n}\n",
            "{\n\t\"b\": 1.50,\n\t\"h\": {\n\t\t\"x\": \"y\",\n\t\t\"ghcr.io\": \"account\"\n\t},\n\t\"a\": []\n}\n"
        ), ("{\"b\":1}", "{\"b\":1, \"h\": {\"ghcr.io\": \"account\"}}"),
        (
            "{\r\n    \"b\": 1,\r\n    \"h\": {}\r\n}",
            "{\r\n    \"b\": 1,\r\n    \"h\": {\n        \"ghcr.io\": \"account\"\n    }\r\n}"
        ),
    ])
    func `Adds a member in the style of the document`(before: String, after: String) throws {
        #expect(try edited(before) { try $0.set(Self.helper, at: ["h", "ghcr.io"]) } == after)
    }

    @Test func `Replaces only the value`() throws {
        let before = "{\n  \"h\": { \"ghcr.io\":\"old\" , \"z\": 1 }\n}"
        #expect(
            try edited(before) { try $0.set(Self.helper, at: ["h", "ghcr.io"]) }
                == "{\n  \"h\": { \"ghcr.io\":\"account\" , \"z\": 1 }\n}")
    }

    @Test(arguments: [
        "", "{}", "{\n\t\"b\": 1.50,\n\t\"h\": {\n\t\t\"x\": \"y\"\n\t},\n\t\"a\": []\n}\n", "{\"b\":1}",
        "{\"h\":{\"a\":\"b\"},\"c\":{}}", "{\n  \"first\": [1,  2]\n}\n",
    ])
    func `Removing undoes adding`(before: String) throws {
        let after = try edited(before) {
            try $0.set(Self.helper, at: ["h", "ghcr.io"])
            $0.remove(at: ["h", "ghcr.io"])
        }
        #expect(after == (before.isEmpty ? "{}\n" : before))
    }

    @Test func `Removes the first, a middle and the last member`() throws {
        let before = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}"
        #expect(try edited(before) { $0.remove(at: ["a"]) } == "{\n  \"b\": 2,\n  \"c\": 3\n}")
        #expect(try edited(before) { $0.remove(at: ["b"]) } == "{\n  \"a\": 1,\n  \"c\": 3\n}")
        #expect(try edited(before) { $0.remove(at: ["c"]) } == "{\n  \"a\": 1,\n  \"b\": 2\n}")
        #expect(try edited(before) { $0.remove(at: ["d"]) } == before)
    }

    @Test func `Refuses to replace a value that is not an object`() throws {
        var edit = try #require(JSONEdit(Array(#"{"h": [1]}"#.utf8)))
        #expect(throws: JSONEdit.NotAnObject.self) { try edit.set(Self.helper, at: ["h", "x"]) }
        #expect(edit.text == Array(#"{"h": [1]}"#.utf8))
    }

    @Test(arguments: ["[]", "x", "{", "// comment\n{}", "{\"a\":1,}"])
    func `Rejects a document that is not an object`(text: String) {
        #expect(JSONEdit(Array(text.utf8)) == nil)
    }

    private static let added = #""h": {\#n    "ghcr.io": "account"\#n  }"#

    @Test(arguments: [
        ("// c\n", "// c\n\n{\n  \(added)\n}\n"), ("{ // c\n}", "{ // c\n  \(added)\n}"),
        ("{/* c */}", #"{/* c */"h": {"ghcr.io": "account"}}"#),
        ("{\n  \"b\": 1, // c\n}", "{\n  \"b\": 1,\n  \(added), // c\n}"),
        ("{\n  // c\n  \"b\": [1, 2,], /* d\n*/\n}", "{\n  // c\n  \"b\": [1, 2,],\n  \(added), /* d\n*/\n}"),
        (#"{"u": "http://x/*", }"#, #"{"u": "http://x/*", "h": {"ghcr.io": "account"}, }"#),
        (#"{"u": "a\",}//"}"#, #"{"u": "a\",}//", "h": {"ghcr.io": "account"}}"#),
        ("\u{FEFF}{}", "\u{FEFF}{\n  \(added)\n}"),
    ])
    func `Keeps comments and trailing commas where a program allows them`(before: String, after: String) throws {
        var edit = try #require(JSONEdit(Array(before.utf8), allowingComments: true))
        try edit.set(Self.helper, at: ["h", "ghcr.io"])
        #expect(String(decoding: edit.text, as: UTF8.self) == after)
        #expect(edit.value(at: ["h", "ghcr.io"])?.string == "account")
        let again = JSONEdit(edit.text, allowingComments: true)
        #expect(again?.value(at: ["h", "ghcr.io"])?.string == "account")
    }

    @Test(arguments: ["{ // c }", "{/* }", #"{"a": 1,,}"#, "{,} x", "[1] // c", #"{"a" 1}"#])
    func `Refuses text that is not JSON even without comments`(text: String) {
        #expect(JSONEdit(Array(text.utf8), allowingComments: true) == nil)
        #expect(JSONEdit(Array("{} // c".utf8)) == nil && JSONEdit(Array("{\"a\": 1,}".utf8)) == nil)
    }

    @Test func `Removes the last member before a trailing comma`() throws {
        var edit = try #require(JSONEdit(Array("{\n  \"a\": 1, // c\n  \"b\": 2,\n}".utf8), allowingComments: true))
        edit.remove(at: ["b"])
        #expect(String(decoding: edit.text, as: UTF8.self) == "{\n  \"a\": 1,\n}")
        #expect(edit.root?.members.count == 1)
    }
}
