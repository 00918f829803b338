import HTTPTypes
import Testing

@testable import auth_server

@Suite("Faults")
struct FaultMiddlewareTests {
    private func set(_ api: API, _ fault: String) async throws {
        let response = try await api.post("/control/faults", json: #"{"faults":[\#(fault)]}"#)
        try #require(response.status == 200, "\(response.body)")
    }

    @Test("A fault replaces the response for the given number of requests")
    func countsDown() async throws {
        try await TestServer().run { api in
            try await set(
                api,
                #"""
                {"path":"/oauth/token","status":503,"headers":{"Retry-After":"7"},"body":"{\"error\":\"x\"}","times":2}
                """#
            )
            let tokens =
                ["grant_type": "password", "username": "alice", "password": API.alicePassword] as KeyValuePairs
            for _ in 1...2 {
                let response = try await api.form("/oauth/token", tokens)
                #expect(response.status == 503)
                #expect(response.headers[.retryAfter] == "7")
                #expect(response.headers[.contentType] == "application/json")
                #expect(response.json == ["error": "x"])
            }
            #expect(try await api.form("/oauth/token", tokens).status == 200)
        }
    }

    @Test("A fault without a number applies until it is cleared or replaced")
    func staysUntilCleared() async throws {
        try await TestServer().run { api in
            try await set(api, #"{"path":"*","status":500}"#)
            for _ in 1...3 {
                #expect(try await api.get("/device").status == 500)
            }
            try await set(api, #"{"path":"/oauth/userinfo","status":429}"#)
            #expect(try await api.get("/device").status == 200)
            #expect(try await api.userInfo(nil).status == 429)
            #expect(try await api.delete("/control/faults").status == 200)
            #expect(try await api.userInfo(nil).status == 401)
        }
    }

    @Test("Faults for the same path apply in order")
    func keepsOrder() async throws {
        try await TestServer().run { api in
            try await set(
                api,
                #"""
                {"path":"/device","status":502,"times":1},
                {"path":"*","status":504,"times":1},
                {"path":"/device","status":500}
                """#
            )
            var statuses: [Int] = []
            for _ in 1...4 {
                statuses.append(try await api.get("/device").status)
            }
            #expect(statuses == [502, 504, 500, 500])
        }
    }

    @Test("Faults simulate a redirect, a captive portal and a Basic challenge")
    func playsOtherResponses() async throws {
        try await TestServer().run { api in
            try await set(
                api,
                #"""
                {"path":"/oauth/userinfo","status":302,"headers":{"Location":"https://portal.example/"},"times":1},
                {"path":"/oauth/userinfo","headers":{"content-type":"text/html"},"body":"<html>Pay</html>","times":1},
                {"path":"/oauth/userinfo","status":401,"headers":{"WWW-Authenticate":"Basic realm=\"proxy\""},"times":1}
                """#
            )
            let redirect = try await api.userInfo("x")
            #expect(redirect.status == 302)
            #expect(redirect.headers[.location] == "https://portal.example/")
            let portal = try await api.userInfo("x")
            #expect(portal.status == 200)
            #expect(portal.headers[.contentType] == "text/html")
            #expect(portal.body == "<html>Pay</html>")
            let challenge = try await api.userInfo("x")
            #expect(challenge.status == 401)
            #expect(challenge.headers[.wwwAuthenticate] == #"Basic realm="proxy""#)
        }
    }

    @Test("A fault with only a delay or fields keeps the real response")
    func delays() async throws {
        let test = try TestServer()
        try await test.run { api in
            let tokens = try await api.signIn()
            try await set(
                api,
                #"{"path":"/oauth/userinfo","delayMilliseconds":1500,"headers":{"Retry-After":"1"},"times":1}"#
            )
            let response = try await api.userInfo(tokens.access)
            #expect(response.status == 200)
            #expect(response.headers[.retryAfter] == "1")
            #expect(response.json["preferred_username"] == "alice")
            #expect(test.naps.all == [.milliseconds(1500)])
            _ = try await api.userInfo(tokens.access)
            #expect(test.naps.all.count == 1)
        }
    }

    @Test("A refresh can succeed although the client receives an error")
    func runsHandlerFirst() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/token","status":503,"afterHandler":true,"times":1}"#)
            let response = try await api.refresh(tokens.refresh)
            #expect(response.status == 503)
            #expect(response.body.isEmpty)
            #expect(try await api.count("rotations") == 1)
            // The server spent the token although the client received an error, so a retry counts as reuse.
            #expect(try await api.refresh(tokens.refresh).error == "invalid_grant")
            #expect(try await api.count("reuseAlarms") == 1)
        }
    }

    @Test("Without afterHandler, a refresh with a fault has no effect")
    func doesNotRunHandler() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/token","status":503,"times":1}"#)
            #expect(try await api.refresh(tokens.refresh).status == 503)
            #expect(try await api.count("rotations") == 0)
            #expect(try await api.count("refreshes") == 1)
            #expect(try await api.refresh(tokens.refresh).status == 200)
        }
    }

    @Test("A fault with afterHandler also applies to error responses")
    func passesErrorsOn() async throws {
        try await TestServer().run { api in
            try await set(api, #"{"path":"*","afterHandler":true,"headers":{"X-Extra":"1"}}"#)
            let response = try await api.refresh("rt_made_up")
            #expect(response.status == 400)
            #expect(response.error == "invalid_grant")
            #expect(response.headers[HTTPField.Name("X-Extra")!] == "1")
        }
    }
}
