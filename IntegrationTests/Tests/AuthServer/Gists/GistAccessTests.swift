import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist access")
struct GistAccessTests {
    @Test("The gists API rejects an invalid token, with a challenge if enabled")
    func badCredentials() async throws {
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
            _ = try await api.post("/control/gists-settings", json: #"{"challenges":true}"#)
            let challenge = try await alice.get("/gists").headers[.wwwAuthenticate]
            #expect(challenge?.contains(#"error="invalid_token""#) == true)
        }
    }

    @Test("Without a token, only public gists are visible, and no gist can change")
    func anonymous() async throws {
        try await TestServer().run { api in
            _ = try await api.seed(1)
            let open = try await api.seed(1, ["isPublic": true])
            let nobody = GistClient(api, token: nil)
            for path in ["/gists", "/gists/public"] {
                #expect(try await nobody.get(path).members("id") == open.map { .string($0) })
            }
            let starred = try await nobody.get("/gists/starred")
            #expect(starred.status == 401)
            #expect(starred.json["message"] == "Requires authentication")
            #expect(try await nobody.send(.post, "/gists", ["files": ["a": ["content": "x"]]]).status == 401)
            #expect(try await nobody.send(.put, "/gists/\(open[0])/star").status == 401)
        }
    }

    @Test("Another user's gist can be read, but not changed or deleted")
    func strangers() async throws {
        try await TestServer().run { api in
            let (alice, bob) = (try await GistClient(api), try await GistClient.bob(api))
            let path = "/gists/" + (try await alice.create())
            #expect(try await bob.get(path).status == 200)
            #expect(try await bob.send(.patch, path, ["description": "mine"]).status == 404)
            #expect(try await bob.send(.delete, path).status == 404)
            #expect(try await alice.get(path).json["description"] == .null)
        }
    }

    @Test("A user who exceeds the gists rate limit is rejected for the hour")
    func rateLimit() async throws {
        let test = try TestServer()
        try await test.run { api in
            _ = try await api.post("/control/gists-settings", json: #"{"rateLimit":2}"#)
            let (alice, bob) = (try await GistClient(api), try await GistClient.bob(api))
            for remaining in ["1", "0"] {
                #expect(try await alice.get("/gists").field("X-RateLimit-Remaining") == remaining)
            }
            let refused = try await alice.send(.post, "/gists", ["files": ["a": ["content": "x"]]])
            #expect(refused.status == 403)
            #expect(try refused.string("message").hasPrefix("API rate limit exceeded for user"))
            #expect(refused.field("X-RateLimit-Remaining") == "0")
            #expect(refused.field("X-RateLimit-Reset") == "1800003600")
            #expect(try await api.gistChanges().isEmpty)
            #expect(try await bob.get("/gists").status == 200)
            test.clock.offset = 3600
            #expect(try await GistClient(api).get("/gists").status == 200)
        }
    }

    @Test("The gists API rejects changes in quick succession, but not reads")
    func secondaryRateLimit() async throws {
        let test = try TestServer()
        try await test.run { api in
            _ = try await api.post("/control/gists-settings", json: #"{"changeInterval":1.5}"#)
            let (alice, bob) = (try await GistClient(api), try await GistClient.bob(api))
            let path = "/gists/" + (try await alice.create(isPublic: true))
            let refused = try await alice.send(.put, path + "/star")
            #expect(refused.status == 403)
            #expect(refused.headers[.retryAfter] == "2")
            #expect(try refused.string("message").hasPrefix("You have exceeded a secondary rate limit."))
            #expect(try await alice.get(path).status == 200)
            #expect(try await bob.send(.put, path + "/star").status == 204)
            #expect(try await api.gistChanges().map { $0["method"] } == ["POST", "PUT"])
            test.clock.offset = 1.5
            #expect(try await alice.send(.put, path + "/star").status == 204)
        }
    }

    @Test("Changing a gist requires the scope gist and a User-Agent, like GitHub")
    func quirks() async throws {
        let quirks = GitHubQuirks(tokensExpire: false)
        try await TestServer(quirks).run { api in
            func token(_ scope: String) async throws -> String {
                let device = try await DeviceFlow(api, quirks, scope: scope)
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
