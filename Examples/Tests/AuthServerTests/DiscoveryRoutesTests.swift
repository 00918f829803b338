import HTTPTypes
import Testing

@testable import auth_server

@Suite("Discovery")
struct DiscoveryRoutesTests {
    @Test(
        "Both well-known names describe the server under the origin it was asked at",
        arguments: ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
    )
    func describesTheServer(path: String) async throws {
        try await TestServer().run { api in
            let reply = try await api.get(path)
            #expect(reply.status == 200)
            #expect(reply.headers[.contentType] == "application/json")
            #expect(reply.json["issuer"] == "http://localhost")
            #expect(reply.json["token_endpoint"] == "http://localhost/oauth/token")
            #expect(reply.json["userinfo_endpoint"] == "http://localhost/oauth/userinfo")
            #expect(reply.json["revocation_endpoint"] == "http://localhost/oauth/revoke")
            #expect(reply.json["device_authorization_endpoint"] == "http://localhost/oauth/device_authorization")
            #expect(reply.json["authorization_endpoint"] == "http://localhost/oauth/authorize")
            #expect(reply.json["jwks_uri"] == "http://localhost/oauth/jwks")
            let grantTypes: JSONValue = [
                "authorization_code", "password", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ]
            #expect(reply.json["grant_types_supported"] == grantTypes)
            #expect(reply.json["code_challenge_methods_supported"] == ["S256"])
            #expect(reply.json["response_types_supported"] == ["code"])
            #expect(reply.json["authorization_response_iss_parameter_supported"] == true)
            #expect(reply.json["id_token_signing_alg_values_supported"] == ["ES256"])
            #expect(reply.json["subject_types_supported"] == ["public"])
        }
    }

    @Test("The issuer has the port of the connection and no slash at the end")
    func issuerIsTheOrigin() async throws {
        try await TestServer().listen { api, port in
            let reply = try await api.get("/.well-known/openid-configuration")
            #expect(reply.json["issuer"] == .string("http://localhost:\(port)"))
        }
    }

    @Test("The document can be made to lie, and to tell the truth again")
    func canLie() async throws {
        try await TestServer().run { api in
            let lie = #"{"set":{"issuer":"https://evil.example"},"omit":["revocation_endpoint"]}"#
            #expect(try await api.post("/control/discovery-reply", json: lie).status == 200)
            let reply = try await api.get("/.well-known/openid-configuration")
            #expect(reply.json["issuer"] == "https://evil.example")
            #expect(reply.json["revocation_endpoint"] == nil)
            #expect(reply.json["token_endpoint"] == "http://localhost/oauth/token")

            _ = try await api.post("/control/discovery-reply", json: "{}")
            #expect(try await api.get("/.well-known/openid-configuration").json["issuer"] == "http://localhost")
        }
    }
}
