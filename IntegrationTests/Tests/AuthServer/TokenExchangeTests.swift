import Testing

@testable import auth_server

@Suite("Token exchange")
struct TokenExchangeTests {
    private static let grant = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

    private static var settings: ServerSettings {
        var settings = ServerSettings()
        settings.exchangeAudiences = ["api"]
        return settings
    }

    private func exchange(
        _ api: API, _ token: String, audience: String = "api", _ others: [(String, String)] = []
    ) async throws -> API.Response {
        try await api.form(
            "/oauth/token",
            [
                ("grant_type", Self.grant), ("subject_token", token), ("subject_token_type", Self.accessToken),
                ("audience", audience), ("client_id", "account-cli"),
            ] + others)
    }

    @Test("Token exchange returns a second token of the same sign-in")
    func exchanges() async throws {
        try await TestServer(settings: Self.settings).run { api in
            let signIn = try await api.signIn(scope: "openid email")
            let response = try await exchange(api, signIn.access, [("scope", "openid")])
            #expect(response.status == 200)
            #expect(try response.string("issued_token_type") == Self.accessToken)
            #expect(response.json["refresh_token"] == nil)
            #expect(try response.string("scope") == "openid")
            let derived = try response.string("access_token")
            #expect(derived != signIn.access)
            #expect(try await api.userInfo(signIn.access).status == 200)
            #expect(try await api.userInfo(derived).status == 200)
            #expect(try await api.get("/control/tokens").body.contains(#""audience":"api""#))
            _ = try await api.form("/oauth/revoke", ["token": signIn.refresh])
            #expect(try await api.userInfo(derived).status == 401)
        }
    }

    @Test("Token exchange rejects an unknown audience, wider scope or bad token")
    func refuses() async throws {
        try await TestServer(settings: Self.settings).run { api in
            let token = try await api.signIn(scope: "openid").access
            #expect(try await exchange(api, token, audience: "other").error == "invalid_target")
            #expect(try await exchange(api, token, audience: "").error == "invalid_target")
            #expect(try await exchange(api, token, [("scope", "openid email")]).error == "invalid_scope")
            #expect(try await exchange(api, "wrong").error == "invalid_request")
            #expect(try await exchange(api, token, [("requested_token_type", "id_token")]).error == "invalid_request")
            _ = try await api.post("/control/expire")
            #expect(try await exchange(api, token).error == "invalid_request")
        }
    }

    @Test("Without exchange audiences, the token exchange grant is unsupported", arguments: [true, false])
    func offered(isOffered: Bool) async throws {
        try await TestServer(settings: isOffered ? Self.settings : ServerSettings()).run { api in
            let document = try await api.get("/.well-known/openid-configuration")
            #expect(document.body.contains("token-exchange") == isOffered)
            let token = try await api.signIn().access
            #expect(try await exchange(api, token).error == (isOffered ? nil : "unsupported_grant_type"))
        }
    }
}
