import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist validators")
struct GistValidatorTests {
    private func etag(_ response: API.Response) throws -> String { try #require(response.headers[.eTag]) }

    @Test("An unchanged gist or list returns 304")
    func notModified() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let id = try await alice.create()
            for path in ["/gists", "/gists/\(id)"] {
                let etag = try etag(try await alice.get(path))
                #expect(etag.hasPrefix("W/\""))
                for sent in [etag, String(etag.dropFirst(2)), "\"other\", \(etag)", "*"] {
                    let again = try await alice.get(path, headers: [.ifNoneMatch: sent])
                    #expect(again.status == 304, "\(sent)")
                    #expect(again.body.isEmpty)
                    #expect(again.headers[.eTag] == etag)
                }
                #expect(try await alice.get(path, headers: [.ifNoneMatch: "\"other\""]).status == 200)
                _ = try await alice.send(.patch, "/gists/\(id)", ["description": .string(path)])
                #expect(try await alice.get(path, headers: [.ifNoneMatch: etag]).status == 200)
            }
        }
    }

    @Test("An unchanged page of gists returns 304 with the new Link")
    func linkOfNotModified() async throws {
        let test = try TestServer()
        try await test.run { api in
            _ = try await api.seed(30)
            let alice = try await GistClient(api)
            let full = try await alice.get("/gists")
            #expect(full.headers[.link] == nil)
            // Add an older gist, which the server lists on the second page.
            test.clock.offset = -365 * 86_400
            _ = try await api.seed(1)
            let again = try await alice.get("/gists", headers: [.ifNoneMatch: try etag(full)])
            #expect(again.status == 304)
            #expect(again.headers[.link]?.contains(#"page=2>; rel="next""#) == true)
        }
    }

    @Test("A gist has a Last-Modified date, and a list of gists has no date")
    func lastModified() async throws {
        let test = try TestServer()
        try await test.run { api in
            let alice = try await GistClient(api)
            let path = "/gists/" + (try await alice.create())
            let date = try #require(try await alice.get(path).headers[.lastModified])
            #expect(date == "Fri, 15 Jan 2027 08:00:00 GMT")
            #expect(try await alice.get(path, headers: [.ifModifiedSince: date]).status == 304)
            let both: HTTPFields = [.ifModifiedSince: date, .ifNoneMatch: "\"other\""]
            #expect(try await alice.get(path, headers: both).status == 200)
            test.clock.offset = 10
            _ = try await alice.send(.patch, path, ["description": "x"])
            #expect(try await alice.get(path, headers: [.ifModifiedSince: date]).status == 200)
            #expect(try await alice.get("/gists").headers[.lastModified] == nil)
        }
    }

    @Test("Entity tags of gists are independent of the token unless configured")
    func tokens() async throws {
        try await TestServer().run { api in
            _ = try await api.seed(1)
            let (one, two) = (try await GistClient(api), try await GistClient(api))
            #expect(try etag(try await one.get("/gists")) == etag(try await two.get("/gists")))
            _ = try await api.post("/control/gists-settings", json: #"{"etagsByToken":true,"weakETags":false}"#)
            let first = try await one.get("/gists")
            #expect(try etag(first).hasPrefix("\""))
            #expect(try await one.get("/gists", headers: [.ifNoneMatch: try etag(first)]).status == 304)
            let second = try await two.get("/gists", headers: [.ifNoneMatch: try etag(first)])
            #expect(second.status == 200)
            #expect(second.body == first.body)
        }
    }

    @Test("A 304 response does not count against the rate limit")
    func cost() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            let first = try await alice.get("/gists")
            #expect(first.field("X-RateLimit-Limit") == "5000")
            #expect(first.field("X-RateLimit-Remaining") == "4999")
            #expect(first.field("X-RateLimit-Used") == "1")
            #expect(first.field("X-RateLimit-Reset") == "1800003600")
            #expect(first.field("X-RateLimit-Resource") == "core")
            #expect(first.field("X-GitHub-Media-Type") == "github.v3; format=json")
            #expect(first.headers[.vary]?.contains("Authorization") == true)
            #expect(first.headers[.contentType] == "application/json; charset=utf-8")
            let same = try await alice.get("/gists", headers: [.ifNoneMatch: try etag(first)])
            #expect(same.field("X-RateLimit-Remaining") == "4999")
            #expect(try await alice.get("/gists/none").field("X-RateLimit-Remaining") == "4998")
        }
    }
}
