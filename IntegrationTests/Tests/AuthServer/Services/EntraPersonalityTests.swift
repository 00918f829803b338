import HTTPTypes
import Testing

@testable import auth_server

/// The differences of Microsoft Entra that its documentation describes.
@Suite struct EntraPersonalityTests {
    @Test func `Discovers an issuer with a placeholder for the tenant of the ID token`() async throws {
        try await TestServer(.entra).run { api in
            let document = try await api.get("/common/v2.0/.well-known/openid-configuration").json
            #expect(document["issuer"] == "http://localhost/{tenantid}/v2.0")
            #expect(document["token_endpoint"] == "http://localhost/common/oauth2/v2.0/token")
            #expect(document["userinfo_endpoint"] == "http://localhost/oidc/userinfo")
            #expect(document["revocation_endpoint"] == nil)
            #expect(document["code_challenge_methods_supported"] == nil)
            #expect(try await api.get("/.well-known/openid-configuration").status == 404)

            let device = try await DeviceFlow(api, .entra, scope: "openid profile")
            _ = try await device.decide()
            let response = try await device.poll()
            #expect(response.json["refresh_token"] == nil)
            let claims = try response.idTokenClaims
            let tenant = "9122040d-6c67-4c5b-b112-36a304b66dad"
            #expect(claims["iss"] == .string("http://localhost/\(tenant)/v2.0"))
            #expect(claims["tid"] == .string(tenant))
            let info = try await api.get("/oidc/userinfo", bearer: try response.string("access_token"))
            #expect(info.json["sub"] == claims["sub"])
        }
    }

    @Test func `Keeps the old refresh token valid after a refresh`() async throws {
        try await TestServer(.entra).run { api in
            let device = try await DeviceFlow(api, .entra, scope: "openid offline_access")
            _ = try await device.decide()
            let token = try await device.poll().string("refresh_token")
            for _ in 1...2 {
                let response = try await api.form(
                    "/common/oauth2/v2.0/token",
                    ["grant_type": "refresh_token", "refresh_token": token]
                )
                #expect(response.status == 200)
                #expect(try response.string("refresh_token") != token)
            }
        }
    }

    @Test func `Reports errors with numbers and own codes`() async throws {
        try await TestServer(.entra).run { api in
            let device = try await DeviceFlow(api, .entra)
            #expect(device.begun.json["verification_uri_complete"] == nil)
            func expect(_ response: API.Response, _ error: String, _ number: Int) throws {
                #expect(response.status == 400)
                #expect(response.error == error)
                #expect(response.json["error_codes"] == [.integer(number)])
                #expect(try response.string("error_description").hasPrefix("AADSTS\(number): "))
                #expect(try !response.string("trace_id").isEmpty)
                #expect(try !response.string("correlation_id").isEmpty)
            }
            try expect(try await device.poll("made-up"), "bad_verification_code", 70_018)
            _ = try await device.decide("deny")
            try expect(try await device.poll(), "authorization_declined", 65_004)
            let refresh = try await api.form(
                "/common/oauth2/v2.0/token",
                ["grant_type": "refresh_token", "refresh_token": "x"]
            )
            try expect(refresh, "invalid_grant", 700_082)
        }
    }

    @Test func `Requires the host localhost in redirect URIs`() async throws {
        try await TestServer(.entra).run { api in
            var flow = BrowserFlow()
            flow.path = "/common/oauth2/v2.0/authorize"
            #expect(try await flow.open(api).status == 400)
            flow = flow.with(["redirect_uri": "http://localhost:49152/callback"])
            #expect(try await flow.open(api).status == 200)
            let parameters = try await BrowserFlow.parameters(of: flow.decide(api))
            #expect(Set(parameters.keys) == ["code", "state"])
            let refused = try await BrowserFlow.parameters(of: flow.decide(api, decision: "deny"))
            #expect(refused["error"] == "access_denied")
        }
    }
}
