#if Offline
import Foundation
import HTTPTypes
import Testing

@testable import AccountOffline

/// Pages that keep each item with an ID, whatever its form.
struct RemotePageTests {
    @Test(
        arguments: [
            ("[]", [], 0), (#"[{"id":"a"},{"id":"b"}]"#, ["a", "b"], 0), (#" [ {"id":"a", "files":null} ] "#, ["a"], 0),
            (#"[{"id":"a","files":{"x":null}},{"id":"b"}]"#, ["a", "b"], 0), (#"[null,{"id":"a"},7,"x",[]]"#, ["a"], 4),
            (#"[{"id":null},{"name":"x"},{"id":"a"}]"#, ["a"], 2), (#"[{"id":12},{"id":"12"}]"#, ["12", "12"], 0),
            (#"[{"id":{}},{"id":"a"}]"#, ["a"], 1), (#"[{"id":"\u00e9"},{"id":""}]"#, ["é", ""], 0),
            ("\u{FEFF}[{\"id\":\"a\"}]", ["a"], 0), (#"[{"id":"a","id":"b"}]"#, ["b"], 0),
        ] as [(String, [String], Int)])
    func `Keeps each element of a list that has an ID`(body: String, ids: [String], unreadableCount: Int) throws {
        let page = try RemotePage(elementsOf: Data(body.utf8), next: "2")
        #expect(page.items.map(\.id) == ids)
        #expect(page.unreadableCount == unreadableCount && page.next == "2")
    }

    @Test(arguments: [
        "", "{", "[", "null", "7", #"{"id":"a"}"#, "<html>Welcome</html>", #"[{"id":"a"}"#, #"[{"id":"a"}] x"#,
        #"{"message":"Not Found"}"#,
    ])
    func `Rejects a body that is not a list`(body: String) {
        #expect(throws: (any Error).self) { try RemotePage(elementsOf: Data(body.utf8), next: nil) }
        #expect(throws: (any Error).self) { try RemotePage(elementsOf: Data(body.utf8), at: "data", next: nil) }
    }

    @Test func `Reads an item whose text the service has cut`() throws {
        let body = Data(#"[{"id":"a","d":"cut \ud83d"},{"id":"b","d":"\ud83d\ude00"}]"#.utf8)
        let items = try RemotePage(elementsOf: body, next: nil).items
        let texts = try items.map { try JSONDecoder().decode([String: String].self, from: $0.json)["d"] }
        #expect(texts == ["cut \u{FFFD}", "😀"])
    }

    /// Strings that decoders reject, and texts that they read instead.
    @Test(
        arguments: [
            ([0x61, 0xFF, 0x62], "a\u{FFFD}b"), ([0xC3], "\u{FFFD}"), (Array("é".utf8), "é"),
            ([0x61, 0x0A, 0x62], "a\nb"), ([0x01], "\u{1}"), (Array(#"\\"#.utf8) + [0x09], "\\\t"),
            (Array(#"\""#.utf8) + [0x1F], "\"\u{1F}"),
        ] as [([UInt8], String)])
    func `Reads a list with a string that decoders reject`(bytes: [UInt8], text: String) throws {
        let item = Array(#"{ "id":"odd","d":""#.utf8) + bytes + Array(#""}"#.utf8)
        let body = Array("[\n{\"id\":\"a\",\"d\":\"é\"},\n".utf8) + item + Array(#",{"id":"b"}]"#.utf8)
        let page = try RemotePage(elementsOf: Data(body), next: nil)
        #expect(page.items.map(\.id) == ["a", "odd", "b"] && page.unreadableCount == 0)
        for json in [page.items[1].json, RemoteItem(id: "odd", json: Data(item)).json] {
            #expect(try JSONDecoder().decode([String: String].self, from: json)["d"] == text)
        }
        #expect(try JSONDecoder().decode([String: String].self, from: page.items[0].json)["d"] == "é")
        let answer = RemoteAnswer(json: HTTPResponse(status: .ok), Data(item), to: nil)
        #expect(answer == .done)
    }

    @Test(arguments: [500, 512, 513, 100_000])
    func `Reads a list with an item of any depth`(depth: Int) throws {
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let page = try RemotePage(
            elementsOf: Data(#"[{"id":"a"},{"id":"deep","d":\#(deep)},{"id":"b"}]"#.utf8), next: nil)
        #expect(page.items.map(\.id) == ["a", "deep", "b"] && page.unreadableCount == 0)
    }

    @Test func `Reads the elements of a member with the names that the service uses`() throws {
        let body = Data(#"{"data":[{"key":"a","n":1.50},{"id":"b"}]}"#.utf8)
        let page = try RemotePage(elementsOf: body, at: "data", id: "key", next: nil)
        #expect(page.items == [RemoteItem(id: "a", json: Data(#"{"key":"a","n":1.50}"#.utf8))])
        #expect(page.unreadableCount == 1)
        #expect(throws: (any Error).self) { try RemotePage(elementsOf: body, next: nil) }
    }
}
#endif
