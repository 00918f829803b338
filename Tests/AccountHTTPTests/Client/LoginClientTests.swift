import AccountHTTP
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct LoginClientTests {
    private func client(_ responses: ScriptedTransport.Response...) throws -> (LoginClient, ScriptedTransport) {
        let transport = ScriptedTransport(responses)
        return (try LoginClient(origin: "https://api.example.com", transport: transport.send), transport)
    }

    @Test func `Sends an authority's request with JSON and token to its service`() async throws {
        let (client, transport) = try client(.json(#"{"id": 7}"#))
        let response = try await client.post("/login?v=2", ["username": "alice"], token: Secret("token-1"))
        #expect(try response.decoded(as: [String: Int].self) == ["id": 7])
        let request = try #require(transport.requests.first)
        #expect(request.head.method == .post && request.head.path == "/login?v=2")
        #expect(request.head.scheme == "https" && request.head.authority == "api.example.com")
        #expect(request.head.headerFields[.contentType] == "application/json")
        #expect(request.head.headerFields[.authorization] == "Bearer token-1")
        #expect(request.body == Data(#"{"username":"alice"}"#.utf8))
    }

    @Test(arguments: [200, 204, 400, 401, 403, 404, 422])
    func `Returns responses that only the app's authority can interpret`(status: Int) async throws {
        let (client, _) = try client(.json(#"{"code": "wrong_password"}"#, status: .init(code: status)))
        let response = try await client.get("/user")
        #expect(response.head.status.code == status)
        #expect(response.body == Data(#"{"code": "wrong_password"}"#.utf8))
    }

    @Test func `Returns JSON that a service labels as a web page to an app's authority`() async throws {
        let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/html"])
        let body = Data(#" {"access_token": "a2"}"#.utf8)
        let (client, _) = try client(.response(head, body))
        #expect(try await client.get("/user").body == body)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 599])
    func `Reports an unavailable service to an app's authority`(status: Int) async throws {
        let head = HTTPResponse(status: .init(code: status), headerFields: [.retryAfter: "7"])
        let (client, _) = try client(.response(head, Data()))
        await #expect(throws: AuthorityError.unavailable(status: status, retryAfter: .seconds(7))) {
            try await client.get("/user")
        }
    }

    @Test func `Reports an intercepted response to an app's authority`() async throws {
        let page = HTTPResponse(status: .ok, headerFields: [.contentType: "text/html"])
        let redirect = HTTPResponse(status: .found, headerFields: [.location: "https://portal.example"])
        let answers = [
            ScriptedTransport.Response.response(page, Data("<html>".utf8)), .response(redirect, Data()),
            .status(.init(code: 511)),
        ]
        for answer in answers {
            let (client, _) = try client(answer)
            do {
                _ = try await client.get("/user")
                Issue.record("no error for \(answer)")
            } catch {
                if case .intercepted = error { continue }
                Issue.record("\(error)")
            }
        }
    }

    @Test(arguments: ["user", "//evil.example/user", "/a b", "https://evil.example/user"])
    func `Sends no request for a path outside of the authority's origin`(path: String) async throws {
        let (client, transport) = try client()
        await #expect(throws: AuthorityError.self) { try await client.get(path, token: Secret("token-1")) }
        #expect(transport.requests.isEmpty)
    }

    @Test func `Refuses an authority's request with another origin or own credentials`() async throws {
        let (client, transport) = try client()
        let requests = [
            HTTPRequest(method: .get, scheme: "https", authority: "evil.example", path: "/user"),
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/user", headerFields: [.authorization: "x"]),
        ]
        for request in requests {
            await #expect(throws: AuthorityError.self) { try await client.send(request, token: Secret("token-1")) }
        }
        #expect(transport.requests.isEmpty)
        let here = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/user")
        #expect(try await client.send(here).statusCode == 204)
    }

    @Test func `Hides the secrets of a request in its errors`() async throws {
        let (client, _) = try client(.json(#"{"message": "wrong: hunter2hunter2"}"#, status: .badRequest))
        let secret = Secret("hunter2hunter2")
        let response = try await client.post("/login", ["password": secret.reveal()], hiding: [secret])
        do {
            _ = try response.decoded(as: [String: Int].self)
            Issue.record("decoded an error")
        } catch {
            #expect(!"\(error)".contains("hunter2"), "\(error)")
        }
    }

    @Test(arguments: ["http://api.example.com", "https://api.example.com/v1", "api.example.com", "https://u@h"])
    func `Refuses an authority's origin that must not receive a token`(origin: String) {
        #expect(throws: AccountError.self) { try LoginClient(origin: origin) }
    }
}
