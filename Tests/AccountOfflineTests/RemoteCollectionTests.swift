#if Offline
import Foundation
import HTTPTypes
import Testing

@testable import AccountOffline
import AccountSupport

/// The default behavior of an adapter.
struct RemoteCollectionTests {
    private struct Page: Codable, Identifiable, Equatable {
        var id: String
        var title: String?
        var tags: [String]?
    }

    /// An adapter with only the required methods.
    private struct Pages: RemoteCollection {
        typealias Item = Page

        var isCreateIdempotent = false
        /// The ID that a create request gives to the new page.
        var chosen: String?

        func chosenID(for change: Change) -> String? { chosen }
        func request(for list: String, at cursor: String?) -> HTTPRequest { request("/" + list) }
        func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage { RemotePage(items: [], next: nil) }
        func request(forItem id: String) -> HTTPRequest { request("/pages/" + id) }
        func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem { RemoteItem(id: "p", json: body) }
        func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
            (request("/pages"), change.body)
        }
        func item(_ item: Data?, with change: Change) throws -> Data? {
            guard change.kind != .delete, let item else { return nil }
            var page = try JSONDecoder().decode(Page.self, from: item)
            page.title = try JSONDecoder().decode(Page.self, from: change.body).title
            return try JSONEncoder().encode(page)
        }
        private func request(_ path: String) -> HTTPRequest {
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        }
    }

    private let update = Change(.update, of: "p", body: Data(#"{"id":"p","title":"new"}"#.utf8), base: "1")

    private func standing(
        of change: Change, wasSent: Bool, _ pages: Pages = Pages(), finding response: (status: Int, json: String)? = nil
    ) async throws -> ChangeStanding {
        try await pages.standing(of: change, wasSent: wasSent, claimed: []) { request, _ in
            let response = try #require(response, "unexpected request for \(request.path ?? "")")
            #expect(request.path == "/pages/p")
            return (HTTPResponse(status: .init(code: response.status)), Data(response.json.utf8))
        }
    }

    @Test(arguments: [ChangeKind.create, .update, .delete, .star])
    func `Sends an unsent change without a lookup of the item`(kind: ChangeKind) async throws {
        #expect(try await standing(of: Change(kind, of: "p"), wasSent: false) == .pending)
    }

    @Test func `Treats the result of a lost create as unknown unless idempotent`() async throws {
        #expect(try await standing(of: Change(.create), wasSent: true) == .unknown)
        #expect(try await standing(of: Change(.create), wasSent: true, Pages(isCreateIdempotent: true)) == .pending)
    }

    @Test func `Looks for a lost create by the ID that the client chose`() async throws {
        let pages = Pages(isCreateIdempotent: true, chosen: "p")
        let found = RemoteItem(id: "p", json: Data("{}".utf8))
        #expect(try await standing(of: Change(.create), wasSent: false, pages) == .pending)
        #expect(try await standing(of: Change(.create), wasSent: true, pages, finding: (200, "{}")) == .done(found))
        #expect(try await standing(of: Change(.create), wasSent: true, pages, finding: (404, "{}")) == .pending)
        await #expect(throws: RemoteFailure.self) {
            try await standing(of: Change(.create), wasSent: true, pages, finding: (404, "no route"))
        }
    }

    @Test(arguments: [ChangeKind.delete, .star])
    func `Sends an idempotent change again after a lost response`(kind: ChangeKind) async throws {
        #expect(try await standing(of: Change(kind, of: "p"), wasSent: true) == .pending)
    }

    @Test func `Treats a lost update as made if the item already has its values`() async throws {
        let json = #"{ "title": "new", "tags": ["a", "b"], "id": "p" }"#
        let found = RemoteItem(id: "p", json: Data(json.utf8))
        #expect(try await standing(of: update, wasSent: true, finding: (200, json)) == .done(found))
    }

    @Test(arguments: [
        (200, #"{"id":"p","title":"old"}"#), (200, #"{"id":"p"}"#), (404, "{}"), (410, #"{"message":"gone"}"#),
    ])
    func `Sends a lost update again if the item differs or is missing`(status: Int, json: String) async throws {
        #expect(try await standing(of: update, wasSent: true, finding: (status, json)) == .pending)
    }

    @Test(arguments: [401, 503, 302])
    func `Throws an error if a lookup response does not concern the item`(status: Int) async throws {
        let error = await #expect(throws: RemoteFailure.self) {
            try await standing(of: update, wasSent: true, finding: (status, "{}"))
        }
        #expect(error?.head.status.code == status)
    }

    @Test(arguments: [
        (200, "<html>Welcome</html>"), (404, "no route"), (404, ""), (410, "<html>"), (200, ""), (403, "blocked"),
    ])
    func `Throws an error if another server responds to a lookup`(status: Int, body: String) async {
        await #expect(throws: RemoteFailure.self) {
            try await standing(of: update, wasSent: true, finding: (status, body))
        }
        await #expect(throws: RemoteFailure.self) {
            try await Pages().item("p") { _, _ in (HTTPResponse(status: .init(code: status)), Data(body.utf8)) }
        }
    }

    @Test(
        arguments: [
            (ChangeKind.create, 201, #"{"id":"p"}"#, RemoteAnswer.done), (.create, 200, "{}", .done),
            (.create, 204, "", .foreign), (.create, 404, "{}", .gone), (.create, 422, "{}", .refused),
            (.update, 200, "{}", .done), (.update, 204, "", .done), (.update, 412, "{}", .refused),
            (.delete, 204, "", .done), (.delete, 200, "{}", .done), (.delete, 202, "[]", .done),
            (.delete, 410, "{}", .gone), (.delete, 404, "{", .foreign), (.delete, 205, "", .done),
            (.star, 204, "", .done), (.star, 200, "", .foreign), (.star, 403, " {}", .refused),
            (nil, 200, "[]", .done), (nil, 204, "", .foreign), (nil, 404, "{}", .gone), (nil, 304, "", .foreign),
            (nil, 200, "\u{FEFF}{}", .done), (.create, 422, "\u{FEFF} [\"\\uD800\"]", .refused),
            (.delete, 404, "\u{FEFF}{}", .gone), (nil, 200, "\u{FEFF}", .foreign), (nil, 200, "\u{FEFF}<p>", .foreign),
            (nil, 200, "1", .foreign), (nil, 500, "{}", .foreign), (nil, 206, "{}", .foreign),
        ] as [(ChangeKind?, Int, String, RemoteAnswer)])
    func `Recognizes the answers of a service with JSON`(
        kind: ChangeKind?, status: Int, body: String, answer: RemoteAnswer
    ) {
        #expect(Pages().answer(HTTPResponse(status: .init(code: status)), Data(body.utf8), to: kind) == answer)
    }

    @Test func `Shows created items first and hides deleted ones`() {
        #expect(Pages().effect(of: Change(.create), on: "all") == .shownFirst)
        #expect(Pages().effect(of: Change(.delete, of: "p"), on: "all") == .hidden)
        #expect(Pages().effect(of: update, on: "all") == .none)
    }

    @Test func `Encodes the same item to the same bytes each time`() throws {
        let page = Page(id: "p", title: "a", tags: ["b"])
        let item = try RemoteItem(page)
        #expect(item.id == "p")
        #expect(String(decoding: item.json, as: UTF8.self) == #"{"id":"p","tags":["b"],"title":"a"}"#)
    }
}
#endif
