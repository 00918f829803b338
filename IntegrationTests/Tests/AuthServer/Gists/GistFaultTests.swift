import HTTPTypes
import Testing

@testable import auth_server

@Suite("Gist faults")
struct GistFaultTests {
    private static let draft: JSONObject = ["files": ["a": ["content": "x"]]]

    /// Sends a request over a raw connection, and returns the whole response.
    private func post(_ client: GistClient, port: Int) async throws -> String {
        let body = #"{"files":{"a":{"content":"x"}}}"#
        let lines = [
            "POST /gists HTTP/1.1", "Host: localhost:\(port)", "Authorization: Bearer \(client.token ?? "")",
            "Content-Length: \(body.utf8.count)", "Connection: close", "", body,
        ]
        return try await RawConnection.exchange(port: port, lines.joined(separator: "\r\n"))
    }

    @Test("A gists fault can lose a response with or without the change")
    func drops() async throws {
        try await TestServer().listen { api, port in
            let alice = try await GistClient(api)
            try await api.setFaults(
                #"""
                {"path":"/gists","method":"POST","disconnect":"before","times":1},
                {"path":"/gists","method":"POST","disconnect":"before","afterHandler":true,"times":1}
                """#)
            #expect(try await post(alice, port: port) == "")
            #expect(try await api.gistChanges().isEmpty)
            #expect(try await post(alice, port: port) == "")
            #expect(try await api.gistChanges().count == 1)
            #expect(try await alice.get("/gists").items.count == 1)
            #expect(try await post(alice, port: port).hasPrefix("HTTP/1.1 201"))
            #expect(try await api.gistChanges().count == 2)
        }
    }

    @Test("A gists fault can apply a change and truncate the response")
    func truncates() async throws {
        try await TestServer().listen { api, port in
            let alice = try await GistClient(api)
            try await api.setFaults(#"{"path":"/gists","disconnect":"truncated","afterHandler":true,"times":1}"#)
            let bytes = try await post(alice, port: port)
            let parts = bytes.split(separator: "\r\n\r\n", maxSplits: 1)
            try #require(parts.count == 2, "\(bytes)")
            #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count + 64)"))
            #expect(try await api.gistChanges().count == 1)
        }
    }

    @Test(
        "A gists fault with an error status does not apply the change",
        arguments: [500, 502, 503, 429, 403, 401])
    func refuses(status: Int) async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            try await api.setFaults(
                #"""
                {"path":"/gists*","method":"POST","status":\#(status),"times":1,
                 "headers":{"Retry-After":"3","x-ratelimit-remaining":"0","x-ratelimit-reset":"1800000060"},
                 "body":"{\"message\":\"no\"}"}
                """#)
            #expect(try await alice.get("/gists").status == 200)
            let refused = try await alice.send(.post, "/gists", Self.draft)
            #expect(refused.status == status)
            #expect(refused.headers[.retryAfter] == "3")
            #expect(refused.field("X-RateLimit-Reset") == "1800000060")
            #expect(refused.json == ["message": "no"])
            #expect(try await api.gistChanges().isEmpty)
            #expect(try await alice.send(.post, "/gists", Self.draft).status == 201)
        }
    }

    @Test("Gists faults simulate a captive portal and an empty list")
    func liesAboutLists() async throws {
        try await TestServer().run { api in
            _ = try await api.seed(3)
            let alice = try await GistClient(api)
            try await api.setFaults(
                #"""
                {"path":"/gists","headers":{"content-type":"text/html"},"body":"<html>Pay</html>","times":1},
                {"path":"/gists","body":"[]","times":1}
                """#)
            let portal = try await alice.get("/gists")
            #expect(portal.status == 200)
            #expect(portal.headers[.contentType] == "text/html")
            #expect(portal.headers[.eTag] == nil)
            #expect(try await alice.get("/gists").body == "[]")
            #expect(try await alice.get("/gists").items.count == 3)
        }
    }

    @Test("A fault can change the Link field of a 304 response")
    func changesLink() async throws {
        try await TestServer().run { api in
            _ = try await api.seed(3)
            let alice = try await GistClient(api)
            let etag = try #require(try await alice.get("/gists").headers[.eTag])
            try await api.setFaults(
                #"{"path":"/gists","ifStatus":304,"headers":{"Link":"<http://localhost/x>; rel=\"next\""},"times":1}"#)
            #expect(try await alice.get("/gists").headers[.link] == nil)
            let same = try await alice.get("/gists", headers: [.ifNoneMatch: etag])
            #expect(same.status == 304)
            #expect(same.headers[.link] == #"<http://localhost/x>; rel="next""#)
        }
    }

    @Test("A gate holds a gist change before or after it is applied")
    func holds() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            try await api.setFaults(
                #"""
                {"path":"/gists","method":"POST","gate":"early","times":1},
                {"path":"/gists","method":"POST","gate":"late","afterHandler":true,"times":1}
                """#)
            for (gate, applied) in [("early", 0), ("late", 2)] {
                async let created = alice.send(.post, "/gists", Self.draft)
                _ = try await api.post("/control/gates/wait", json: #"{"gate":"\#(gate)"}"#)
                #expect(try await api.gistChanges().count == applied)
                _ = try await api.post("/control/gates/open", json: #"{"gate":"\#(gate)"}"#)
                #expect(try await created.status == 201)
            }
        }
    }

    @Test("Faults can be added to active faults and can skip requests")
    func skips() async throws {
        try await TestServer().run { api in
            let alice = try await GistClient(api)
            try await api.setFaults(#"{"path":"/gists*","skip":2,"status":503,"times":1}"#)
            let more = #"{"faults":[{"path":"/gists/*","status":500,"times":1}],"keep":true}"#
            #expect(try await api.post("/control/faults", json: more).json == ["faults": 1])
            var statuses: [Int] = []
            for path in ["/gists", "/gists/public", "/gists", "/gists/public"] {
                statuses.append(try await alice.get(path).status)
            }
            #expect(statuses == [200, 500, 503, 200])
        }
    }
}
