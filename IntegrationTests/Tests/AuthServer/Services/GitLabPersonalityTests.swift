import HTTPTypes
import Testing

@testable import auth_server

/// The differences of GitLab that its documentation or its issues describe.
@Suite struct GitLabPersonalityTests {
    @Test func `Has its own device path and subjects`() async throws {
        try await TestServer(.gitlab).run { api in
            let document = try await api.get("/.well-known/openid-configuration").json
            #expect(document["device_authorization_endpoint"] == "http://localhost/oauth/authorize_device")
            let device = try await DeviceFlow(api, .gitlab)
            #expect(device.begun.json["verification_uri"] == "http://localhost/oauth/device")
            _ = try await device.decide()
            let response = try await device.poll()
            #expect(try response.idTokenClaims["sub"] == "1001")
            #expect(try await api.userInfo(try response.string("access_token")).json["sub"] == "1001")
        }
    }

    @Test func `Keeps a spent refresh token valid until the new access token is used`() async throws {
        try await TestServer(.gitlab).run { api in
            let first = try await api.signIn()
            let second = try await api.refresh(first.refresh)
            #expect(second.status == 200)
            // Simulate a lost response.
            let third = try await api.refresh(first.refresh)
            #expect(third.status == 200)
            #expect(try await api.userInfo(first.access).status == 200)

            let access = try third.string("access_token")
            #expect(try await api.userInfo(access).status == 200)
            let spent = try await api.refresh(first.refresh)
            #expect(spent.status == 400)
            #expect(spent.error == "invalid_grant")
            #expect(try await api.userInfo(first.access).status == 401)
            // The session is still valid.
            #expect(try await api.userInfo(access).status == 200)
            #expect(try await api.refresh(try third.string("refresh_token")).status == 200)
        }
    }

    @Test(arguments: ["at_made_up", nil])
    func `Refuses with the challenge of Doorkeeper`(token: String?) async throws {
        try await TestServer(.gitlab).run { api in
            let response = try await api.userInfo(token)
            #expect(response.status == 401)
            let challenge = #"Bearer realm="Doorkeeper", error="invalid_token", error_description=""#
            #expect(response.headers[.wwwAuthenticate]?.hasPrefix(challenge) == true)
            let refresh = try await api.refresh("rt_made_up")
            #expect(refresh.status == 400)
            #expect(refresh.headers[.wwwAuthenticate]?.contains(#"error="invalid_grant""#) == true)
        }
    }
}
