import Testing

@testable import auth_server

@Suite("ID tokens")
struct IDTokenTests {
    private static let now = 1_800_000_000

    @Test("The browser flow returns a signed ID token with the nonce")
    func browserFlow() async throws {
        try await TestServer().run { api in
            let response = try await api.redeem(try await BrowserFlow().code(api))
            let token = try DecodedToken(response.string("id_token"))
            #expect(
                token.claims == [
                    "iss": "http://localhost", "sub": "u-5f0c2a9b7d314e86", "aud": "account-cli", "nonce": "n-0S6",
                    "iat": .integer(Self.now), "exp": .integer(Self.now + 3600), "auth_time": .integer(Self.now),
                ]
            )
            #expect(token.header["alg"] == "EdDSA")
            let keys = try await api.get("/oauth/jwks")
            #expect(try token.isSigned(with: keys.json))
            // Another server's key with the same identifier.
            var other = SigningKey().publicKey
            other["kid"] = token.header["kid"]
            #expect(try !token.isSigned(with: ["keys": [.object(other)]]))
        }
    }

    @Test("The password and device flows return an ID token without a nonce")
    func otherFlows() async throws {
        try await TestServer().run { api in
            let password = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "alice", "password": API.alicePassword]
            )
            let begun = try await api.form("/oauth/device_authorization", [:])
            _ = try await api.form(
                "/device",
                [
                    "user_code": try begun.string("user_code"), "username": "alice", "password": API.alicePassword,
                    "decision": "approve",
                ]
            )
            let grantType = "urn:ietf:params:oauth:grant-type:device_code"
            let device = try await api.form(
                "/oauth/token",
                ["grant_type": grantType, "device_code": try begun.string("device_code")]
            )
            for response in [password, device] {
                let claims = try DecodedToken(response.string("id_token")).claims
                #expect(claims["sub"] == "u-5f0c2a9b7d314e86")
                #expect(claims["aud"] == "account-cli")
                #expect(claims["nonce"] == nil)
            }
        }
    }

    @Test("Returns no ID token without the scope openid or for a refresh")
    func onlyWhenAskedFor() async throws {
        try await TestServer().run { api in
            let code = try await BrowserFlow().with(["scope": "email"]).code(api)
            #expect(try await api.redeem(code).json["id_token"] == nil)
            let refreshed = try await api.refresh(try await api.signIn().refresh)
            #expect(refreshed.status == 200)
            #expect(refreshed.json["id_token"] == nil)
        }
    }

    @Test("Claims of an ID token can be altered with a valid signature")
    func canLie() async throws {
        try await TestServer().run { api in
            let lie = #"{"set":{"nonce":"another","aud":["someone-else"]},"omit":["exp"]}"#
            #expect(try await api.post("/control/id-token", json: lie).status == 200)
            let token = try DecodedToken(try await api.redeem(try await BrowserFlow().code(api)).string("id_token"))
            #expect(token.claims["nonce"] == "another")
            #expect(token.claims["aud"] == ["someone-else"])
            #expect(token.claims["exp"] == nil)
            #expect(token.claims["sub"] == "u-5f0c2a9b7d314e86")
            #expect(try token.isSigned(with: try await api.get("/oauth/jwks").json))

            _ = try await api.post("/control/id-token", json: "{}")
            let honest = try DecodedToken(try await api.redeem(try await BrowserFlow().code(api)).string("id_token"))
            #expect(honest.claims["nonce"] == "n-0S6")
        }
    }

    @Test("The signing key survives a restart")
    func keepsTheKey() async throws {
        try await withTemporaryDirectory { directory in
            let file = StateFile(path: directory + "/state.json")
            let first = try TestServer(file: file)
            try await first.run { api in _ = try await api.signIn() }
            let second = try TestServer(file: file)
            #expect(await first.server.publicKey == second.server.publicKey)
            #expect(await first.server.publicKey != (try TestServer()).server.publicKey)
        }
    }
}
