import HTTPTypes
import Testing

@testable import auth_server

@Suite("Token targets")
struct TargetTests {
    private static let password = [
        ("grant_type", "password"), ("username", "alice"), ("password", API.alicePassword),
        ("client_id", "account-cli"),
    ]

    private static func refresh(_ token: String) -> [(String, String)] {
        [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "account-cli")]
    }

    private func live(_ api: API, _ kind: String) async throws -> [JSONValue] {
        guard case .array(let tokens) = try await api.get("/control/tokens?user=alice").json["tokens"] else {
            return []
        }
        return tokens.filter { token in
            guard case .object(let members) = token else { return false }
            return members["kind"] == .string(kind)
        }
    }

    @Test("Tokens are limited to the granted resources")
    func records() async throws {
        try await TestServer().run { api in
            let resources = [("resource", "https://a.example/"), ("resource", "urn:b")]
            let signIn = try await api.form("/oauth/token", Self.password + resources + [("audience", "api")])
            let scope = JSONValue.string(try signIn.string("scope"))
            func token(_ kind: String, _ resources: [JSONValue]) -> JSONValue {
                [
                    "user": "alice", "kind": .string(kind), "scope": scope, "resources": .array(resources),
                    "audience": "api",
                ]
            }
            #expect(try await live(api, "access") == [token("access", ["https://a.example/", "urn:b"])])
            let held = try signIn.string("refresh_token")
            let more = try await api.form("/oauth/token", Self.refresh(held) + [("resource", "urn:c")])
            #expect(more.error == "invalid_target")
            _ = try await api.post("/control/expire")
            let narrow = try await api.form("/oauth/token", Self.refresh(held) + [("resource", "urn:b")])
            #expect(narrow.status == 200)
            #expect(try await live(api, "access") == [token("access", ["urn:b"])])
            #expect(try await live(api, "refresh") == [token("refresh", ["https://a.example/", "urn:b"])])
        }
    }

    @Test("A server with fixed resources and a fixed audience requires both")
    func insists() async throws {
        var settings = ServerSettings()
        settings.resources = ["https://a.example/"]
        settings.audience = "api"
        try await TestServer(settings: settings).run { api in
            let right = [("resource", "https://a.example/"), ("audience", "api")]
            let signIn = try await api.form("/oauth/token", Self.password + right)
            #expect(signIn.status == 200)
            #expect(try await api.form("/oauth/token", Self.password + [right[1]]).error == "invalid_target")
            #expect(try await api.form("/oauth/token", Self.password + [right[0]]).error == "invalid_request")
            let refresh = Self.refresh(try signIn.string("refresh_token"))
            #expect(try await api.form("/oauth/token", refresh).error == "invalid_target")
            #expect(try await api.form("/oauth/token", refresh + [right[0]]).status == 200)
        }
    }

    @Test(
        "The server rejects a resource that is not an absolute URI",
        arguments: ["here", "/path", "https://a.example/#part"])
    func refusesNonsense(resource: String) async throws {
        try await TestServer().run { api in
            let response = try await api.form("/oauth/token", Self.password + [("resource", resource)])
            #expect(response.error == "invalid_target")
        }
    }
}

@Suite("Valid tokens")
struct LiveTokenTests {
    private func kinds(_ api: API) async throws -> [String] {
        guard case .array(let tokens) = try await api.get("/control/tokens").json["tokens"] else { return [] }
        return tokens.compactMap { token in
            guard case .object(let members) = token, case .string(let kind) = members["kind"] else { return nil }
            return kind
        }.sorted()
    }

    @Test("The list of valid tokens omits spent, expired and revoked tokens")
    func lists() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            #expect(try await kinds(api) == ["access", "refresh"])
            let newer = try await api.refresh(tokens.refresh)
            #expect(try await kinds(api) == ["access", "access", "refresh"])
            _ = try await api.post("/control/expire")
            #expect(try await kinds(api) == ["refresh"])
            _ = try await api.form("/oauth/revoke", ["token": try newer.string("refresh_token")])
            #expect(try await kinds(api) == [])
        }
    }

    @Test("A revocation can be limited to one token")
    func revokesOne() async throws {
        var settings = ServerSettings()
        settings.revocationEndsSignIn = false
        try await TestServer(settings: settings).run { api in
            let tokens = try await api.signIn()
            _ = try await api.form("/oauth/revoke", ["token": tokens.refresh])
            #expect(try await kinds(api) == ["access"])
            #expect(try await api.userInfo(tokens.access).status == 200)
            #expect(try await api.refresh(tokens.refresh).error == "invalid_grant")
            _ = try await api.form("/oauth/revoke", ["token": tokens.access])
            #expect(try await kinds(api) == [])
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test("Refresh tokens can require the scope offline_access")
    func offlineAccess() async throws {
        var settings = ServerSettings()
        settings.refreshTokens = .offlineAccess
        try await TestServer(settings: settings).run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword]
            )
            #expect(response.json["refresh_token"] == nil)
            let tokens = try await api.signIn(scope: "openid offline_access")
            #expect(tokens.refresh.hasPrefix("rt_"))
        }
    }

    @Test("User info can omit the reason for a refusal", arguments: StandardQuirks.Refusal.allCases)
    func refusals(refusal: StandardQuirks.Refusal) async throws {
        var settings = ServerSettings()
        settings.quirks = StandardQuirks(refusal: refusal)
        try await TestServer(settings: settings).run { api in
            let response = try await api.userInfo("wrong")
            #expect(response.status == 401)
            #expect((response.headers[.wwwAuthenticate] != nil) == (refusal == .challenge))
            #expect((response.error == "invalid_token") == (refusal != .none))
        }
    }

    @Test("Discovery documents can differ, and redirect URIs can be exact")
    func documents() async throws {
        var settings = ServerSettings()
        settings.redirectURIs = ["http://127.0.0.1:8400/cb"]
        try await TestServer(settings: settings).run { api in
            let alteration = #"{"omit":["device_authorization_endpoint"]}"#
            #expect(try await api.post("/control/openid-configuration-response", json: alteration).status == 200)
            for (name, isThere) in [("openid-configuration", false), ("oauth-authorization-server", true)] {
                let document = try await api.get("/.well-known/" + name)
                #expect((document.json["device_authorization_endpoint"] != nil) == isThere)
            }
            func status(_ redirectURI: String) async throws -> Int {
                let challenge = String(repeating: "a", count: 43)
                return try await api.get(
                    "/oauth/authorize?client_id=account-cli&response_type=code&code_challenge_method=S256"
                        + "&code_challenge=\(challenge)&redirect_uri=\(redirectURI.percentEncoded)"
                ).status
            }
            #expect(try await status("http://127.0.0.1:8400/cb") == 200)
            for other in ["http://127.0.0.1:8401/cb", "http://127.0.0.1:8400/callback", "http://localhost:8400/cb"] {
                #expect(try await status(other) == 400)
            }
        }
    }
}
