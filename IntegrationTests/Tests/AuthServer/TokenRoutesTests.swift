import HTTPTypes
import Testing

@testable import auth_server

@Suite("Token endpoint")
struct TokenRoutesTests {
    @Test("The password grant returns tokens with Cache-Control no-store")
    func signsIn() async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword, "scope": "openid email"]
            )
            #expect(response.status == 200)
            #expect(response.headers[.cacheControl] == "no-store")
            #expect(response.json["token_type"] == "Bearer")
            #expect(response.json["expires_in"] == 3600)
            #expect(response.json["scope"] == "openid email")
            #expect(try response.string("access_token").hasPrefix("at_"))
            #expect(try response.string("refresh_token").hasPrefix("rt_"))
            #expect(try response.string("id_token").split(separator: ".").count == 3)
        }
    }

    @Test("Without a scope, a client gets every scope")
    func defaultScope() async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "bob", "password": "hunter2 but longer"]
            )
            #expect(response.json["scope"] == "openid profile email phone groups offline_access")
        }
    }

    @Test(
        "A wrong password and an unknown user cause the same error",
        arguments: [("alice", "wrong"), ("mallory", "wrong"), ("alice", "hunter2 but longer")]
    )
    func refusesWrongPasswords(username: String, password: String) async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": username, "password": password]
            )
            #expect(response.status == 400)
            #expect(response.error == "invalid_grant")
            #expect(response.json["error_description"] == "wrong username or password")
            #expect(response.headers[.cacheControl] == "no-store")
        }
    }

    @Test("The token endpoint rejects an unknown client with 401", arguments: ["someone-else", nil] as [String?])
    func refusesUnknownClients(clientID: String?) async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword],
                clientID: clientID
            )
            #expect(response.status == 401)
            #expect(response.error == "invalid_client")
            #expect(response.headers[.wwwAuthenticate] == nil)
        }
    }

    @Test("The token endpoint rejects a public client's secret with a challenge")
    func refusesClientSecrets() async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "refresh_token", "refresh_token": "x"],
                headers: [.authorization: "Basic YWNjb3VudC1jbGk6c2VjcmV0"]
            )
            #expect(response.status == 401)
            #expect(response.error == "invalid_client")
            #expect(response.headers[.wwwAuthenticate] == #"Basic realm="account""#)
        }
    }

    @Test("The token endpoint rejects unknown grant types, scopes and bad input")
    func refusesWhatItDoesNotUnderstand() async throws {
        try await TestServer().run { api in
            let machine = try await api.form("/oauth/token", ["grant_type": "client_credentials"])
            #expect(machine.status == 400)
            #expect(machine.error == "unsupported_grant_type")

            let scope = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword, "scope": "openid root"]
            )
            #expect(scope.error == "invalid_scope")

            let missing = try await api.form("/oauth/token", ["grant_type": "password", "username": "alice"])
            #expect(missing.error == "invalid_request")
            #expect(missing.json["error_description"] == "password is missing")

            let empty = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": ""]
            )
            #expect(empty.error == "invalid_request")

            let twice = try await api.form("/oauth/token", ["grant_type": "password", "grant_type": "password"])
            #expect(twice.error == "invalid_request")

            let json = try await api.post("/oauth/token", json: #"{"grant_type":"password"}"#)
            #expect(json.error == "invalid_request")
        }
    }

    @Test("Token responses can be altered")
    func altersResponses() async throws {
        try await TestServer().run { api in
            let alteration = #"{"omit":["refresh_token"],"set":{"expires_in":-5,"token_type":"mac"}}"#
            _ = try await api.post("/control/token-response", json: alteration)
            let response = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword]
            )
            #expect(response.json["refresh_token"] == nil)
            #expect(response.json["expires_in"] == -5)
            #expect(response.json["token_type"] == "mac")
            #expect(try await api.userInfo(try response.string("access_token")).status == 200)
        }
    }
}
