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
}
