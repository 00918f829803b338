import HTTPTypes
import Testing

@testable import auth_server

/// The differences of Google that its documentation describes.
@Suite struct GooglePersonalityTests {
    private static let secret = [("client_secret", "account-secret")]

    private func token(_ api: API, _ fields: [(String, String)]) async throws -> API.Response {
        try await api.form("/oauth/token", [("client_id", "account-cli")] + fields)
    }

    @Test func `Has its own device fields and statuses, and an issuer without a scheme`() async throws {
        let test = try TestServer(.google)
        try await test.run { api in
            #expect(try await api.get("/.well-known/openid-configuration").json["issuer"] == "http://localhost")
            #expect(try await api.get("/.well-known/oauth-authorization-server").status == 404)
            let device = try await DeviceFlow(api, .google, extra: Self.secret)
            #expect(device.begun.json["verification_url"] == "http://localhost/device")
            #expect(device.begun.json["verification_uri"] == nil)
            #expect(device.begun.json["verification_uri_complete"] == nil)
            let pending = try await device.poll()
            #expect(pending.status == 428)
            #expect(pending.error == "authorization_pending")
            let tooSoon = try await device.poll()
            #expect(tooSoon.status == 403)
            #expect(tooSoon.error == "slow_down")
            _ = try await device.decide()
            test.clock.offset = 60
            let response = try await device.poll()
            #expect(response.json["refresh_token"] != nil)
            #expect(try response.idTokenClaims["iss"] == "localhost")

            let refused = try await DeviceFlow(api, .google, extra: Self.secret)
            _ = try await refused.decide("deny")
            let denied = try await refused.poll()
            #expect(denied.status == 403)
            #expect(denied.error == "access_denied")
        }
    }

    @Test func `Rejects a client without a secret`() async throws {
        try await TestServer(.google).run { api in
            let device = try await DeviceFlow(api, .google).poll()
            let refresh = try await api.refresh("rt_x")
            let code = try await api.redeem(try await BrowserFlow().code(api))
            for response in [device, refresh, code] {
                #expect(response.status == 401)
                #expect(response.json == ["error": "invalid_client"])
            }
        }
    }

    @Test func `Returns a constant refresh token for offline access only`() async throws {
        try await TestServer(.google).run { api in
            func redeem(_ flow: BrowserFlow) async throws -> API.Response {
                let fields = [
                    ("grant_type", "authorization_code"), ("code", try await flow.code(api)),
                    ("redirect_uri", BrowserFlow.callback), ("code_verifier", BrowserFlow.verifier),
                ]
                return try await token(api, fields + Self.secret)
            }
            #expect(try await redeem(BrowserFlow()).json["refresh_token"] == nil)
            let response = try await redeem(BrowserFlow().with(["access_type": "offline"]))
            let refreshToken = try response.string("refresh_token")
            for _ in 1...2 {
                let fields = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
                let refreshed = try await token(api, fields + Self.secret)
                #expect(refreshed.status == 200)
                #expect(refreshed.json["refresh_token"] == nil)
            }
        }
    }

    @Test func `Reports an error for the revocation of an unknown token`() async throws {
        try await TestServer(.google).run { api in
            let device = try await DeviceFlow(api, .google, extra: Self.secret)
            _ = try await device.decide()
            let refreshToken = try await device.poll().string("refresh_token")
            #expect(try await api.form("/oauth/revoke", ["token": refreshToken]).status == 200)
            let again = try await api.form("/oauth/revoke", ["token": refreshToken])
            #expect(again.status == 400)
            #expect(again.json == ["error": "invalid_token"])
        }
    }
}
