import HTTPTypes
import Testing

@testable import auth_server

/// The properties of GitHub's API for gists on which the stored lists of `gists` depend: pages, validators and access.
@Suite struct GistRoutesTests {
    @Test func `Lists the newest gists first, on pages with links to the others`() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            #expect(try await alice.get("/gists").headers[.link] == nil)
            let ids = try await alice.seed(130)
            let base = "http://localhost/gists?since=2020-01-01T00:00:00Z&per_page=60&page="
            for (page, range, links) in [
                (1, 0..<60, [("next", 2), ("last", 3)]),
                (2, 60..<120, [("prev", 1), ("next", 3), ("last", 3), ("first", 1)]),
                (3, 120..<130, [("prev", 2), ("first", 1)]), (9, 0..<0, [("prev", 3), ("first", 1)]),
            ] as [(Int, Range<Int>, [(String, Int)])] {
                let response = try await alice.get("/gists?since=2020-01-01T00:00:00Z&per_page=60&page=\(page)")
                #expect(try response.ids == Array(ids[range]))
                let link = links.map { "<\(base)\($0.1)>; rel=\"\($0.0)\"" }.joined(separator: ", ")
                #expect(response.headers[.link] == link)
            }
            for (query, count) in [
                ("per_page=x", 30), ("per_page=100", 100), ("per_page=101", 100), ("per_page=0", 30), ("page=-1", 30),
                ("page=99999999999999999999", 30), ("since=2027-01-15T07:58:00Z", 2),
            ] {
                #expect(try await alice.get("/gists?" + query).ids == Array(ids.prefix(count)), "\(query)")
            }
        }
    }

    @Test func `Returns 304 for an unchanged gist or list, with the current link`() async throws {
        let test = try TestServer()
        try await test.run { api in
            let alice = try await GistClient(api)
            let path = "/gists/" + (try await alice.create())
            _ = try await alice.seed(29)
            for path in ["/gists", path] {
                let etag = try #require(try await alice.get(path).headers[.eTag])
                #expect(etag.hasPrefix("W/\""))
                for sent in [etag, String(etag.dropFirst(2)), "\"other\", \(etag)", "*"] {
                    let again = try await alice.get(path, headers: [.ifNoneMatch: sent])
                    #expect(again.status == 304, "\(sent)")
                    #expect(again.body.isEmpty)
                    #expect(again.headers[.eTag] == etag)
                }
                #expect(try await alice.get(path, headers: [.ifNoneMatch: "\"other\""]).status == 200)
            }
            let etag = try #require(try await alice.get("/gists").headers[.eTag])
            // Add an older gist, which the server lists on the second page.
            test.clock.offset = -365 * 86_400
            _ = try await alice.seed(1)
            test.clock.offset = 0
            let unchanged = try await alice.get("/gists", headers: [.ifNoneMatch: etag])
            #expect(unchanged.status == 304)
            #expect(unchanged.headers[.link]?.contains(#"page=2>; rel="next""#) == true)
            _ = try await alice.send(.patch, path, #"{"description":"x"}"#)
            #expect(try await alice.get("/gists", headers: [.ifNoneMatch: etag]).status == 200)
        }
    }

    @Test func `Compares the date of a gist unless the client sends an entity tag`() async throws {
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
            _ = try await alice.send(.patch, path, #"{"description":"x"}"#)
            #expect(try await alice.get(path, headers: [.ifModifiedSince: date]).status == 200)
            #expect(try await alice.get("/gists").headers[.lastModified] == nil)
        }
    }

    @Test func `Rejects an invalid token without a challenge`() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            _ = try await api.post("/control/expire")
            for client in [alice, GistClient(api, token: "made-up")] {
                for path in ["/gists", "/gists/public", "/gists/starred"] {
                    let response = try await client.get(path)
                    #expect(response.status == 401)
                    #expect(response.json["message"] == "Bad credentials")
                    #expect(response.headers[.wwwAuthenticate] == nil)
                }
            }
        }
    }

    @Test func `Only the owner changes a gist, and strangers see public lists only`() async throws {
        try await TestServer().run { api in
            let (alice, bob) = (try await GistClient(api), try await GistClient(api, as: "bob"))
            let nobody = GistClient(api, token: nil)
            let path = "/gists/" + (try await alice.create())
            let open = try await alice.create(isPublic: true)
            for (client, list) in [(nobody, "/gists"), (nobody, "/gists/public"), (bob, "/gists/public")] {
                #expect(try await client.get(list).ids == [.string(open)])
            }
            #expect(try await bob.get("/gists").ids == [])
            #expect(try await nobody.get("/gists/starred").status == 401)
            #expect(try await nobody.send(.post, "/gists", #"{"files":{"a":{"content":"x"}}}"#).status == 401)
            // GitHub hides the lists of secret gists, but not the gists themselves.
            #expect(try await bob.get(path).status == 200)
            #expect(try await bob.send(.patch, path, #"{"description":"mine"}"#).status == 404)
            #expect(try await bob.send(.delete, path).status == 404)
            #expect(try await alice.get(path).json["description"] == .null)
        }
    }

    @Test func `At GitHub, changes require the scope gist and a User-Agent`() async throws {
        let personality = Personality.github
        try await TestServer(personality).run { api in
            func token(_ scope: String) async throws -> String {
                let device = try await DeviceFlow(api, personality, scope: scope)
                _ = try await device.decide()
                return try await device.poll().string("access_token")
            }
            let body = #"{"files":{"a":{"content":"x"}}}"#
            let agent: HTTPFields = [.userAgent: "tests"]
            let (narrow, wide) = (try await token("read:user"), try await token("read:user gist"))
            #expect(try await api.send(.post, "/gists", bearer: wide, body: body).status == 403)
            #expect(try await api.send(.post, "/gists", headers: agent, bearer: narrow, body: body).status == 404)
            let created = try await api.send(.post, "/gists", headers: agent, bearer: wide, body: body)
            #expect(created.status == 201)
            #expect(created.json["owner"]?["id"] == 583_231)
        }
    }
}
