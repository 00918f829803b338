import HTTPTypes
import Testing

@testable import auth_server

/// The differences of GitHub that its documentation describes.
@Suite struct GitHubPersonalityTests {
    private static let classic = Personality.github
    private static let expiring = Personality.githubApp
    private static let agent: HTTPFields = [.userAgent: "tests"]

    private func refresh(_ api: API, _ token: String) async throws -> API.Response {
        try await api.form(
            "/login/oauth/access_token",
            [("client_id", "account-cli"), ("grant_type", "refresh_token"), ("refresh_token", token)],
            headers: [.accept: "application/json"]
        )
    }

    @Test func `A device gets a token without an expiry, for user info with a numeric ID`() async throws {
        let test = try TestServer(Self.classic)
        try await test.run { api in
            let device = try await DeviceFlow(api, Self.classic, scope: "read:user gist")
            #expect(device.begun.json["verification_uri"] == "http://localhost/login/device")
            #expect(device.begun.json["verification_uri_complete"] == nil)
            #expect(try await device.decide().status == 200)
            let response = try await device.poll()
            #expect(response.status == 200)
            #expect(Set(response.json.keys) == ["access_token", "scope", "token_type"])
            #expect(response.json["scope"] == "read:user,gist")
            #expect(response.json["token_type"] == "bearer")
            let token = try response.string("access_token")
            #expect(token.hasPrefix("gho_"))

            test.clock.offset = 10 * 365 * 86_400
            let user = try await api.get("/api/v3/user", bearer: token, headers: Self.agent)
            #expect(user.json["login"] == "alice")
            #expect(user.json["id"] == 583_231)
            #expect(user.json["email"] == .null)
            #expect(user.json["sub"] == nil)
            let anonymous = try await api.get("/api/v3/user", bearer: token)
            #expect(anonymous.status == 403)
            #expect(anonymous.headers[.contentType]?.hasPrefix("text/plain") == true)
            let wrong = try await api.get("/api/v3/user", bearer: "gho_made_up", headers: Self.agent)
            #expect(wrong.status == 401)
            #expect(wrong.json["message"] == "Bad credentials")
            #expect(wrong.headers[.wwwAuthenticate] == nil)
        }
    }

    @Test func `Reports errors with status 200 and own codes`() async throws {
        let test = try TestServer(Self.classic)
        try await test.run { api in
            let device = try await DeviceFlow(api, Self.classic)
            func expect(_ response: API.Response, _ error: String) throws {
                #expect(response.status == 200)
                #expect(response.error == error)
                #expect(try !response.string("error_description").isEmpty)
                #expect(try !response.string("error_uri").isEmpty)
            }
            try expect(try await device.poll(), "authorization_pending")
            let tooSoon = try await device.poll()
            try expect(tooSoon, "slow_down")
            #expect(tooSoon.json["interval"] == 10)
            try expect(try await device.poll("made-up"), "incorrect_device_code")
            _ = try await device.decide("deny")
            test.clock.offset = 60
            try expect(try await device.poll(), "access_denied")
            test.clock.offset = 600
            try expect(try await device.poll(), "expired_token")

            let json: HTTPFields = [.accept: "application/json"]
            let path = "/login/oauth/access_token"
            let stranger = [("client_id", "someone-else"), ("grant_type", DeviceFlow.grantType), ("device_code", "x")]
            try expect(try await api.form(path, stranger, headers: json), "incorrect_client_credentials")
            let password = [("client_id", "account-cli"), ("grant_type", "password")]
            try expect(try await api.form(path, password, headers: json), "unsupported_grant_type")
            try expect(try await refresh(api, "ghr_x"), "unsupported_grant_type")
        }
    }

    @Test func `Responds with forms unless the client accepts JSON`() async throws {
        try await TestServer(Self.classic).run { api in
            let begun = try await api.form("/login/device/code", [:])
            #expect(begun.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true)
            let codes = try FormBody.parameters(in: begun.body)
            #expect(codes["verification_uri"] == "http://localhost/login/device")
            #expect(codes["interval"] == "5")
            let poll = try await api.form(
                "/login/oauth/access_token",
                ["grant_type": DeviceFlow.grantType, "device_code": try #require(codes["device_code"])]
            )
            #expect(poll.status == 200)
            #expect(try FormBody.parameters(in: poll.body)["error"] == "authorization_pending")
        }
    }

    @Test(
        arguments: [
            "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/oauth/jwks",
            "/oauth/userinfo", "/oauth/revoke",
        ])
    func `Returns 404 for endpoints that GitHub does not have`(path: String) async throws {
        try await TestServer(Self.classic).run { api in
            let response = try await api.get(path)
            #expect(response.status == 404)
            #expect(response.json["message"] == "Not Found")
            #expect(response.json["documentation_url"] != nil)
        }
    }

    @Test func `The tokens of an app expire, and a refresh ends both old tokens`() async throws {
        let test = try TestServer(Self.expiring)
        try await test.run { api in
            let device = try await DeviceFlow(api, Self.expiring)
            _ = try await device.decide()
            let first = try await device.poll()
            #expect(first.json["expires_in"] == 28_800)
            #expect(first.json["refresh_token_expires_in"] == 15_897_600)
            let (access, token) = (try first.string("access_token"), try first.string("refresh_token"))
            #expect(access.hasPrefix("ghs_") && access.split(separator: ".").count == 3)
            #expect(510...530 ~= access.count)
            #expect(token.hasPrefix("ghr_"))

            let second = try await refresh(api, token)
            #expect(try second.string("refresh_token") != token)
            #expect(try await api.get("/api/v3/user", bearer: access, headers: Self.agent).status == 401)
            let again = try await refresh(api, token)
            #expect(again.status == 200)
            #expect(again.error == "bad_refresh_token")
            let user = try await api.get(
                "/api/v3/user",
                bearer: try second.string("access_token"),
                headers: Self.agent
            )
            #expect(user.status == 200)
        }
    }

    @Test func `Requires a client secret for a code`() async throws {
        try await TestServer(Self.classic).run { api in
            var flow = BrowserFlow().with(["scope": "read:user"])
            flow.path = "/login/oauth/authorize"
            let parameters = try await BrowserFlow.parameters(of: flow.decide(api))
            #expect(Set(parameters.keys) == ["code", "state"])
            let fields = [
                ("client_id", "account-cli"), ("grant_type", "authorization_code"),
                ("code", try #require(parameters["code"])), ("redirect_uri", BrowserFlow.callback),
                ("code_verifier", BrowserFlow.verifier),
            ]
            let json: HTTPFields = [.accept: "application/json"]
            let path = "/login/oauth/access_token"
            let bare = try await api.form(path, fields, headers: json)
            #expect(bare.error == "incorrect_client_credentials")
            let response = try await api.form(path, fields + [("client_secret", "account-secret")], headers: json)
            #expect(response.json["scope"] == "read:user")
            let again = try await api.form(path, fields + [("client_secret", "account-secret")], headers: json)
            #expect(again.error == "bad_verification_code")
        }
    }
}
