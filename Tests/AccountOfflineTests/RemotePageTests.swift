#if Offline
import Foundation
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

    @Test func `Reads the elements of a member with the names that the service uses`() throws {
        let body = Data(#"{"data":[{"key":"a","n":1.50},{"id":"b"}]}"#.utf8)
        let page = try RemotePage(elementsOf: body, at: "data", id: "key", next: nil)
        #expect(page.items == [RemoteItem(id: "a", json: Data(#"{"key":"a","n":1.50}"#.utf8))])
        #expect(page.unreadableCount == 1)
        #expect(throws: (any Error).self) { try RemotePage(elementsOf: body, next: nil) }
    }
}
#endif
