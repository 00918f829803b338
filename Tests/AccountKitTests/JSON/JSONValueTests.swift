import AccountKit
import Testing

@Suite struct JSONValueTests {
    @Test func `JSON is bounded in depth and in the number of values`() {
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
        // What stands in a string does not count.
        #expect(isRead(#"{"a":"\""# + String(repeating: #"[{,\\"#, count: 20_000) + #""}"#))
    }

    @Test func `It is read wherever its bytes are`() {
        let text = #"{"a":[1,2.5,true,null,{"b":"c"}]}"#
        let expected: JSONObject = [
            "a": .array([.integer(1), .real(2.5), .boolean(true), .null, .object(["b": .string("c")])])
        ]
        #expect(JSONValue.object(from: Array(text.utf8)) == expected)
        #expect(JSONValue.object(from: Array(text.utf8).lazy.map { $0 }) == expected)
        #expect(JSONValue.object(from: [UInt8]()) == nil)
    }
}
