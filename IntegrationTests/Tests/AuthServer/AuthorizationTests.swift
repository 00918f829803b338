import HTTPTypes
import Testing

@testable import auth_server

/// The checks of requests. A server that accepts every request would not notice what AccountKit omits.
@Suite struct AuthorizationTests {
    @Test func `Exchanges a code once, for the redirect URI and the verifier of the request`() async throws {
        try await TestServer().run { api in
            let code = try await BrowserFlow().code(api)
            let elsewhere = "http://127.0.0.1:49153/callback"
            #expect(try await api.redeem(code, redirectURI: elsewhere).error == "invalid_grant")
            #expect(try await api.redeem(code, verifier: BrowserFlow.challenge).error == "invalid_grant")
            let tokens = try await api.redeem(code)
            #expect(tokens.status == 200)
            #expect(try await api.redeem(code).error == "invalid_grant")
            #expect(try await api.userInfo(try tokens.string("access_token")).status == 401)
        }
    }

    @Test(
        arguments: [
            ([], ["http://127.0.0.1:1/callback", "http://[::1]:65535/callback", "http://localhost/callback"]),
            (["http://127.0.0.1:8400/cb"], ["http://127.0.0.1:8400/cb"]),
        ] as [([String], [String])])
    func `Redirects only to a registered redirect URI`(registered: [String], accepted: [String]) async throws {
        var settings = ServerSettings()
        settings.redirectURIs = registered
        try await TestServer(settings: settings).run { api in
            for uri in accepted {
                #expect(try await BrowserFlow().with(["redirect_uri": uri]).open(api).status == 200)
            }
            for uri in [
                "http://127.0.0.1:8401/cb", "http://localhost:8400/cb", "https://127.0.0.1:1/callback",
                "http://127.0.0.1:1/callback?x=y", "http://127.0.0.1:1/callback#x", "http://evil.example/callback",
                "http://127.0.0.1@evil.example/callback", nil,
            ] {
                let response = try await BrowserFlow().with(["redirect_uri": uri]).open(api)
                #expect(response.status == 400, "\(uri ?? "")")
                #expect(response.headers[.location] == nil)
            }
        }
    }

    @Test func `Requires the resource and the audience of the options`() async throws {
        var settings = ServerSettings()
        settings.resources = ["https://a.example/"]
        settings.audience = "api"
        try await TestServer(settings: settings).run { api in
            let (resource, audience) = (("resource", "https://a.example/"), ("audience", "api"))
            func signIn(_ target: (String, String)...) async throws -> API.Response {
                let fields = [("grant_type", "password"), ("username", "alice"), ("password", API.alicePassword)]
                return try await api.form("/oauth/token", fields + [("client_id", "account-cli")] + target)
            }
            #expect(try await signIn(audience).error == "invalid_target")
            #expect(try await signIn(resource).error == "invalid_request")
            let token = try await signIn(resource, audience).string("refresh_token")
            #expect(try await api.refresh(token).error == "invalid_target")
        }
    }

    @Test(arguments: UserInfoRefusal.allCases)
    func `User info omits the reason of a refusal as the option says`(refusal: UserInfoRefusal) async throws {
        try await TestServer(.standard(refusal: refusal)).run { api in
            let response = try await api.userInfo("wrong")
            #expect(response.status == 401)
            #expect((response.headers[.wwwAuthenticate] != nil) == (refusal == .challenge))
            #expect((response.error == "invalid_token") == (refusal != .none))
        }
    }
}
