import HTTPTypes
import Testing

@testable import auth_server

@Suite("Discovery")
struct DiscoveryRoutesTests {
    @Test(
        "Both discovery documents describe the server at the requested origin",
        arguments: ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
    )
    func describesTheServer(path: String) async throws {
        try await TestServer().run { api in
            let response = try await api.get(path)
            #expect(response.status == 200)
            #expect(response.headers[.contentType] == "application/json")
            #expect(response.json["issuer"] == "http://localhost")
            #expect(response.json["token_endpoint"] == "http://localhost/oauth/token")
            #expect(response.json["userinfo_endpoint"] == "http://localhost/oauth/userinfo")
            #expect(response.json["revocation_endpoint"] == "http://localhost/oauth/revoke")
            #expect(response.json["device_authorization_endpoint"] == "http://localhost/oauth/device_authorization")
            #expect(response.json["authorization_endpoint"] == "http://localhost/oauth/authorize")
            #expect(response.json["jwks_uri"] == "http://localhost/oauth/jwks")
            let grantTypes: JSONValue = [
                "authorization_code", "password", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ]
            #expect(response.json["grant_types_supported"] == grantTypes)
            #expect(response.json["code_challenge_methods_supported"] == ["S256"])
            #expect(response.json["response_types_supported"] == ["code"])
            #expect(response.json["authorization_response_iss_parameter_supported"] == true)
            #expect(response.json["id_token_signing_alg_values_supported"] == ["EdDSA"])
            #expect(response.json["subject_types_supported"] == ["public"])
        }
    }

    @Test("The discovered issuer has the connection's port and no trailing slash")
    func issuerIsTheOrigin() async throws {
        try await TestServer().listen { api, port in
            let response = try await api.get("/.well-known/openid-configuration")
            #expect(response.json["issuer"] == .string("http://localhost:\(port)"))
        }
    }

    @Test("A discovery document can be altered and restored")
    func canLie() async throws {
        try await TestServer().run { api in
            let lie = #"{"set":{"issuer":"https://evil.example"},"omit":["revocation_endpoint"]}"#
            #expect(try await api.post("/control/discovery-response", json: lie).status == 200)
            let response = try await api.get("/.well-known/openid-configuration")
            #expect(response.json["issuer"] == "https://evil.example")
            #expect(response.json["revocation_endpoint"] == nil)
            #expect(response.json["token_endpoint"] == "http://localhost/oauth/token")

            _ = try await api.post("/control/discovery-response", json: "{}")
            #expect(try await api.get("/.well-known/openid-configuration").json["issuer"] == "http://localhost")
        }
    }
}
