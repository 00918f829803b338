import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist lists")
struct GistListTests {
    @Test("A page lists the thirty newest gists, and Link has absolute URLs")
    func pages() async throws {
        try await TestServer().run { api in
            let ids = try await api.seed(70)
            let alice = try await GistClient(api)
            let newestFirst = ids.reversed().map { Optional(JSONValue.string($0)) }
            let first = try await alice.get("/gists")
            #expect(first.status == 200)
            #expect(try first.members("id") == Array(newestFirst.prefix(30)))
            let base = "http://localhost/gists?page="
            #expect(first.headers[.link] == #"<\#(base)2>; rel="next", <\#(base)3>; rel="last""#)

            let second = try await alice.get("/gists?page=2")
            #expect(try second.members("id") == Array(newestFirst[30..<60]))
            #expect(
                second.headers[.link]
                    == #"<\#(base)1>; rel="prev", <\#(base)3>; rel="next", <\#(base)3>; rel="last", <\#(base)1>; rel="first""#
            )
            let last = try await alice.get("/gists?page=3")
            #expect(try last.members("id") == Array(newestFirst[60...]))
            #expect(last.headers[.link] == #"<\#(base)2>; rel="prev", <\#(base)1>; rel="first""#)
            let beyond = try await alice.get("/gists?page=9")
            #expect(try beyond.items.isEmpty)
            #expect(beyond.headers[.link] == #"<\#(base)3>; rel="prev", <\#(base)1>; rel="first""#)
        }
    }

    @Test(
        "per_page has a default and a limit, and ignores invalid values",
        arguments: [
            ("per_page=5", 5), ("per_page=100", 100), ("per_page=101", 100), ("per_page=0", 30), ("per_page=x", 30),
            ("page=-1", 30), ("page=99999999999999999999", 30),
        ])
    func sizes(query: String, count: Int) async throws {
        try await TestServer().run { api in
            _ = try await api.seed(120)
            let response = try await GistClient(api).get("/gists?" + query)
            #expect(try response.items.count == count)
        }
    }

    @Test("Link keeps other parameters and is absent for a single page of gists")
    func keepsParameters() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            #expect(try await alice.get("/gists").headers[.link] == nil)
            _ = try await api.seed(3)
            let response = try await alice.get("/gists?per_page=2&since=2020-01-01T00:00:00Z")
            let base = "http://localhost/gists?per_page=2&since=2020-01-01T00:00:00Z&page=2"
            #expect(response.headers[.link] == #"<\#(base)>; rel="next", <\#(base)>; rel="last""#)
        }
    }

    @Test("A list item describes a gist without the contents of the files")
    func item() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let id = try await alice.create("notes.md")
            let item = try #require(try await alice.get("/gists").items.first)
            #expect(id.count == 32 && id.allSatisfy { "0123456789abcdef".contains($0) })
            #expect(item["id"] == .string(id))
            #expect(item["url"] == .string("http://localhost/gists/\(id)"))
            #expect(item["description"] == .null)
            #expect(item["public"] == false)
            #expect(item["created_at"] == "2027-01-15T08:00:00Z")
            #expect(item["updated_at"] == "2027-01-15T08:00:00Z")
            #expect(item["comments"] == 0)
            #expect(item["truncated"] == false)
            #expect(item["owner"]?["login"] == "alice")
            #expect(item["owner"]?["id"] == 1001)
            let file = try #require(item["files"]?["notes.md"])
            #expect(file["filename"] == "notes.md")
            #expect(file["type"] == "text/markdown")
            #expect(file["language"] == "Markdown")
            #expect(file["size"] == 3)
            #expect(file["content"] == nil)
            for name in ["node_id", "html_url"] { #expect(item[name] != nil) }
        }
    }

    @Test("since filters gists by date and must be a valid date")
    func since() async throws {
        try await TestServer().run { api in
            _ = try await api.seed(5)
            let alice = try await GistClient(api)
            let later = try await alice.get("/gists?since=2027-01-15T07:58:00Z")
            #expect(try later.members("description") == ["Gist 5", "Gist 4"])
            #expect(try await alice.get("/gists?since=2027-01-15T07%3A58%3A00Z").items.count == 2)
            #expect(try await alice.get("/gists?since=yesterday").status == 422)
        }
    }

    @Test("A changed gist moves to the front of a list, even in the same second")
    func order() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let (first, second) = (try await alice.create(), try await alice.create())
            #expect(try await alice.get("/gists").members("id") == [.string(second), .string(first)])
            _ = try await alice.send(.patch, "/gists/\(first)", ["description": "newer"])
            #expect(try await alice.get("/gists").members("id") == [.string(first), .string(second)])
        }
    }

    @Test("A user's own, public and starred gists are separate lists")
    func lists() async throws {
        try await TestServer().run { api in
            let (alice, bob) = (try await GistClient(api), try await GistClient.bob(api))
            let secret = try await alice.create()
            let open = try await bob.create(isPublic: true)
            #expect(try await alice.get("/gists").members("id") == [.string(secret)])
            #expect(try await alice.get("/gists/public").members("id") == [.string(open)])
            #expect(try await alice.get("/gists/starred").items.isEmpty)
            #expect(try await alice.send(.put, "/gists/\(open)/star").status == 204)
            #expect(try await alice.get("/gists/starred").members("id") == [.string(open)])
            #expect(try await bob.get("/gists/starred").items.isEmpty)
        }
    }
}
