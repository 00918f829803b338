import Crypto
import HTTPTypes
import Testing

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The checks of proofs (RFC 9449). A server that accepts every proof would not notice a wrong one.
struct DPoPProofTests {
    /// A client with a key, which can make every mistake in a proof.
    private struct Client {
        var key = P256.Signing.PrivateKey()
        var header: JSONObject = ["typ": "dpop+jwt", "alg": "ES256"]
        var claims: JSONObject = [
            "htm": "POST", "htu": "http://localhost/oauth/token", "iat": 1_800_000_000,
        ]

        var publicKey: JSONObject {
            let point = key.publicKey.rawRepresentation
            return [
                "kty": "EC", "crv": "P-256", "x": .string(point.prefix(32).base64URL),
                "y": .string(point.suffix(32).base64URL),
            ]
        }

        func proof(_ changes: JSONObject = [:], signedBy signer: P256.Signing.PrivateKey? = nil) throws -> String {
            var (header, claims) = (header, claims)
            header["jwk"] = header["jwk"] ?? .object(publicKey)
            claims["jti"] = .string(RandomText.token(prefix: "jti_"))
            claims.merge(changes) { _, new in new }
            let encoder = JSONEncoder()
            let input = try encoder.encode(header).base64URL + "." + encoder.encode(claims).base64URL
            let signature = try (signer ?? key).signature(for: Data(input.utf8)).rawRepresentation
            return input + "." + signature.base64URL
        }
    }

    private func run(_ policy: ProofPolicy = .on, _ test: @Sendable (API) async throws -> Void) async throws {
        var settings = ServerSettings()
        settings.chosenProofs = policy
        try await TestServer(settings: settings).run(test)
    }

    private func signIn(_ api: API, _ proof: String) async throws -> API.Response {
        try await api.form(
            "/oauth/token", ["grant_type": "password", "username": "alice", "password": API.alicePassword],
            headers: [.dpop: proof])
    }

    private func refresh(_ api: API, _ token: String, _ proof: String?) async throws -> API.Response {
        var headers = HTTPFields()
        headers[.dpop] = proof
        return try await api.form(
            "/oauth/token", ["grant_type": "refresh_token", "refresh_token": token], headers: headers)
    }

    @Test func `Binds the tokens of a sign-in to the key of its proof`() async throws {
        try await run { api in
            let client = Client()
            let signedIn = try await signIn(api, client.proof())
            #expect(signedIn.json["token_type"] == "DPoP", "\(signedIn.body)")
            let token = try signedIn.string("refresh_token")
            for proof in [nil, try Client().proof()] {
                #expect(try await refresh(api, token, proof).error == "invalid_grant")
            }
            let refreshed = try await refresh(api, token, client.proof())
            #expect(refreshed.status == 200 && refreshed.json["token_type"] == "DPoP")
        }
    }

    @Test func `Refuses a proof for another request, without its key or used before`() async throws {
        try await run { api in
            var clients = [Client(), Client(), Client()]
            clients[0].header["typ"] = "JWT"
            clients[1].header["alg"] = "none"
            clients[2].header["jwk"] = .object(clients[2].publicKey.merging(["d": "secret"]) { _, new in new })
            let changes: [JSONObject] = [
                ["htm": "GET"], ["htu": "http://localhost/oauth/userinfo"], ["iat": 1_799_999_939],
                ["iat": 1_800_000_061], ["ath": "x"], ["jti": .null],
            ]
            let used = try Client().proof()
            #expect(try await signIn(api, used).status == 200)
            let forged = try Client().proof(signedBy: P256.Signing.PrivateKey())
            let proofs = try clients.map { try $0.proof() } + changes.map { try Client().proof($0) }
            for proof in proofs + [used, forged, "a.b.c", ""] {
                #expect(try await signIn(api, proof).error == "invalid_dpop_proof", "\(proof)")
            }
        }
    }

    @Test func `Accepts a bound token only with a proof for this token`() async throws {
        try await run { api in
            var client = Client()
            let token = try await signIn(api, client.proof()).string("access_token")
            client.claims = ["htm": "GET", "htu": "http://localhost/oauth/userinfo", "iat": 1_800_000_000]
            let hash = JSONValue.string(auth_server.SHA256.hash(token).base64URL)
            func userInfo(_ scheme: String, _ proof: String?) async throws -> API.Response {
                var headers: HTTPFields = [.authorization: "\(scheme) \(token)"]
                headers[.dpop] = proof
                return try await api.get("/oauth/userinfo", headers: headers)
            }
            #expect(try await userInfo("DPoP", client.proof(["ath": hash])).status == 200)
            var other = client
            other.key = P256.Signing.PrivateKey()
            let refusals = [
                try await userInfo("DPoP", client.proof()), try await userInfo("DPoP", nil),
                try await userInfo("DPoP", other.proof(["ath": hash])), try await userInfo("Bearer", nil),
            ]
            #expect(refusals.map(\.status) == [401, 401, 401, 401])
            #expect(refusals.allSatisfy { $0.headers[.wwwAuthenticate]?.hasPrefix("DPoP ") == true })
        }
    }

    @Test func `Requires the nonce of its last response`() async throws {
        try await run(.nonces) { api in
            let client = Client()
            let first = try await signIn(api, client.proof())
            #expect(first.status == 400 && first.error == "use_dpop_nonce")
            let nonce = try #require(first.headers[.dpopNonce])
            #expect(try await signIn(api, client.proof(["nonce": .string(nonce)])).status == 200)
            #expect(try await api.delete("/control/nonces").status == 200)
            #expect(try await signIn(api, client.proof(["nonce": .string(nonce)])).error == "use_dpop_nonce")
        }
    }
}
