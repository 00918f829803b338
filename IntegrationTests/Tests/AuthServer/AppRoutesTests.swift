import Testing

@testable import auth_server

@Suite("App API")
struct AppRoutesTests {
    private static let login = #"{"username":"alice","password":"correct horse battery staple"}"#

    private func data(_ response: API.Response) -> JSONObject {
        guard case .object(let data) = response.json["data"] else { return [:] }
        return data
    }

    private func signIn(_ api: API) async throws -> String {
        let response = try await api.post("/login", json: Self.login)
        guard case .string(let token) = data(response)["token"] else { throw API.Missing(description: response.body) }
        return token
    }

    @Test("Login returns a token and the profile, and user info the same profile")
    func signsIn() async throws {
        try await TestServer().run { api in
            let login = try await api.post("/login", json: Self.login)
            #expect(login.status == 200)
            #expect(login.json["status"] == "ok")
            var profile = data(login)
            guard case .string(let token) = profile.removeValue(forKey: "token") else {
                throw API.Missing(description: "no token")
            }
            let expected: JSONObject = [
                "id": 1001, "username": "alice", "nickname": "Alice", "email": "alice@example.org", "points": 1250,
            ]
            #expect(profile == expected)

            let info = try await api.post("/userinfo", bearer: token)
            #expect(info.json["status"] == "ok")
            #expect(data(info) == expected)
        }
    }

    @Test("App login rejects a wrong password with 200 and a code in the body")
    func refusesWrongPasswords() async throws {
        try await TestServer().run { api in
            let response = try await api.post("/login", json: #"{"username":"alice","password":"wrong"}"#)
            #expect(response.status == 200)
            #expect(response.json["status"] == "error")
            #expect(response.json["code"] == "wrong_password")
            #expect(response.json["data"] == nil)
        }
    }

    @Test("App login rejects an invalid request with 400", arguments: ["", "{", #"{"username":"alice"}"#])
    func refusesNonsense(body: String) async throws {
        try await TestServer().run { api in
            let response = try await api.post("/login", json: body)
            #expect(response.status == 400)
            #expect(response.json["code"] == "bad_request")
        }
    }

    @Test("App logout ends the session")
    func signsOut() async throws {
        try await TestServer().run { api in
            let token = try await signIn(api)
            #expect(try await api.post("/logout", bearer: token).json == ["status": "ok"])
            let response = try await api.post("/userinfo", bearer: token)
            #expect(response.status == 200)
            #expect(response.json["code"] == "session_revoked")
            #expect(try await api.post("/logout", bearer: token).json == ["status": "ok"])
        }
    }

    @Test("An app session does not expire, but the control endpoint can end it")
    func endsByControl() async throws {
        let test = try TestServer()
        try await test.run { api in
            let token = try await signIn(api)
            test.clock.offset = 10 * 365 * 86_400
            _ = try await api.post("/control/expire")
            #expect(try await api.post("/userinfo", bearer: token).json["status"] == "ok")
            #expect(try await api.post("/control/revoke", json: #"{"user":"alice"}"#).json == ["revoked": 1])
            #expect(try await api.post("/userinfo", bearer: token).json["code"] == "session_revoked")
        }
    }

    @Test("The app API and the OAuth API reject each other's tokens")
    func apisAreApart() async throws {
        try await TestServer().run { api in
            let session = try await signIn(api)
            let tokens = try await api.signIn()
            #expect(try await api.userInfo(session).error == "invalid_token")
            #expect(try await api.post("/userinfo", bearer: tokens.access).json["code"] == "session_revoked")
            #expect(try await api.post("/userinfo").json["code"] == "token_missing")
            // A token for one API cannot end a session of the other API.
            _ = try await api.form("/oauth/revoke", ["token": session])
            _ = try await api.post("/logout", bearer: tokens.access)
            #expect(try await api.post("/userinfo", bearer: session).json["status"] == "ok")
            #expect(try await api.userInfo(tokens.access).status == 200)
        }
    }
}
