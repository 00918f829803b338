import HTTPTypes
import Testing

@testable import auth_server

@Suite("User info")
struct UserInfoRoutesTests {
    @Test("User info returns the claims of the token's scope")
    func claims() async throws {
        try await TestServer().run { api in
            let all = try await api.userInfo(try await api.signIn().access)
            #expect(all.status == 200)
            #expect(
                all.json == [
                    "sub": "u-5f0c2a9b7d314e86",
                    "name": "Alice Liddell",
                    "nickname": "Alice",
                    "preferred_username": "alice",
                    "picture": "https://example.org/avatars/u-5f0c2a9b7d314e86.png",
                    "updated_at": 1_750_000_000,
                    "email": "alice@example.org",
                    "email_verified": true,
                    "phone_number": "+447700900123",
                    "groups": ["staff", "admins"],
                ]
            )
            let some = try await api.userInfo(try await api.signIn(scope: "openid email").access)
            #expect(
                some.json == ["sub": "u-5f0c2a9b7d314e86", "email": "alice@example.org", "email_verified": true]
            )
        }
    }

    @Test("User info without a token returns a challenge without an error code", arguments: [nil, "Basic eDp5"])
    func challenges(authorization: String?) async throws {
        try await TestServer().run { api in
            var headers = HTTPFields()
            headers[.authorization] = authorization
            let response = try await api.get("/oauth/userinfo", headers: headers)
            #expect(response.status == 401)
            #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="account""#)
            #expect(response.body.isEmpty)
        }
    }

    @Test("User info rejects an unknown token with invalid_token")
    func unknownToken() async throws {
        try await TestServer().run { api in
            let response = try await api.userInfo("at_made_up")
            #expect(response.status == 401)
            let challenge = #"Bearer realm="account", error="invalid_token", "#
            #expect(response.headers[.wwwAuthenticate]?.hasPrefix(challenge) == true)
            #expect(response.error == "invalid_token")
        }
    }

    @Test("An access token is valid until its lifetime has passed")
    func expires() async throws {
        var settings = ServerSettings()
        settings.accessTokenLifetime = 60
        let test = try TestServer(settings: settings)
        try await test.run { api in
            let tokens = try await api.signIn()
            test.clock.offset = 59
            #expect(try await api.userInfo(tokens.access).status == 200)
            test.clock.offset = 60
            let response = try await api.userInfo(tokens.access)
            #expect(response.status == 401)
            #expect(response.json["error_description"] == "access token expired")
            #expect(try await api.refresh(tokens.refresh).json["expires_in"] == 60)
        }
    }

    @Test("User info rejects a token without the scope openid")
    func needsOpenID() async throws {
        try await TestServer().run { api in
            let response = try await api.userInfo(try await api.signIn(scope: "email").access)
            #expect(response.status == 403)
            #expect(response.headers[.wwwAuthenticate]?.contains(#"error="insufficient_scope""#) == true)
        }
    }

    @Test("The claims of user info can be altered")
    func altersClaims() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            _ = try await api.post("/control/userinfo-response", json: #"{"set":{"sub":"u-someone-else"}}"#)
            #expect(try await api.userInfo(tokens.access).json["sub"] == "u-someone-else")
            _ = try await api.post("/control/userinfo-response", json: "{}")
            #expect(try await api.userInfo(tokens.access).json["sub"] == "u-5f0c2a9b7d314e86")
        }
    }
}
