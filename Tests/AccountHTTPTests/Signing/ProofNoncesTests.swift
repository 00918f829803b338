#if Signatures
import AccountKit
import AccountSupport
import FoundationEssentials
import HTTPTypes
import Testing

@testable import AccountHTTP

/// The nonces that servers require in proofs, and the second attempt after a refused proof.
struct ProofNoncesTests {
    private let nonces = ProofNonces()
    private let key: ProofKey

    init() throws { key = try ProofKey.random() }

    private func request(_ url: String, token: String? = nil) throws -> ServiceRequest {
        var request = ServiceRequest(url: try ServiceURL(url))
        request.authorization = token.map { .bound(Secret($0)) }
        request.key = key
        return request
    }

    private func claims(_ request: ServiceRequest) throws -> JSONObject {
        var request = request
        try nonces.prove(&request, at: FixedClock().now)
        return try ReadProof(try #require(request.headerFields[.dpop])).claims
    }

    private static let tokenDemand = ServiceResponse(
        400, ["Content-Type": "application/json", "DPoP-Nonce": "n1"], #"{"error":"use_dpop_nonce"}"#)

    /// Sends a request with scripted responses. Returns the nonces of the attempts, and the last status.
    private func exchange(
        _ request: ServiceRequest, _ responses: ServiceResponse...
    ) async throws -> (nonces: [String?], status: Int) {
        var sent: [String?] = []
        let response = try await nonces.exchange(request, clock: FixedClock()) { request in
            sent.append(try ReadProof(try #require(request.headerFields[.dpop])).claims["nonce"]?.string)
            return responses[min(sent.count, responses.count) - 1]
        }
        return (sent, response.status)
    }

    @Test func `Repeats a request once with the nonce of the refusal`() async throws {
        let first = try await exchange(request("https://id.example/token"), Self.tokenDemand, .json(200, "{}"))
        #expect(first.nonces == [nil, "n1"] && first.status == 200)
        // The next request begins with the nonce.
        let next = try await exchange(request("https://id.example/other"), .json(200, "{}"))
        #expect(next.nonces == ["n1"])
    }

    @Test(arguments: [(0.0, true), (30, true), (31, false), (-1, false)])
    func `Trusts a nonce for half a minute after its receipt`(age: Double, isFresh: Bool) throws {
        let request = try request("https://id.example/token")
        let received = Self.tokenDemand.receivedAt
        #expect(!nonces.hasFreshNonce(for: request, at: received))
        nonces.note(Self.tokenDemand, to: request)
        #expect(nonces.hasFreshNonce(for: request, at: received.addingTimeInterval(age)) == isFresh)
    }

    @Test func `Stops after the second refusal`() async throws {
        let other = ServiceResponse(
            400, ["Content-Type": "application/json", "DPoP-Nonce": "n2"], #"{"error":"use_dpop_nonce"}"#)
        let result = try await exchange(request("https://id.example/token"), Self.tokenDemand, other)
        #expect(result.nonces == [nil, "n1"] && result.status == 400)
    }

    @Test func `Uses the newest nonce of any response`() async throws {
        let challenge = #"Bearer error="x", DPoP algs="ES256", error="use_dpop_nonce""#
        let refusal = ServiceResponse(401, ["WWW-Authenticate": challenge, "DPoP-Nonce": "a1"])
        let accepted = ServiceResponse(200, ["DPoP-Nonce": "a2"])
        let request = try request("https://api.example/a", token: "t")
        #expect(try await exchange(request, refusal, accepted).nonces == [nil, "a1"])
        #expect(try await exchange(request, accepted).nonces == ["a2"])
    }

    @Test func `Keeps the nonces of origins and roles apart`() async throws {
        _ = try await exchange(request("https://id.example/token"), Self.tokenDemand, .json(200, "{}"))
        for (url, token, nonce) in [
            ("https://id.example/revoke", nil, "n1"), ("https://id.example/userinfo", "t", nil),
            ("https://id.example:8443/token", nil, nil), ("https://other.example/token", nil, nil),
        ] as [(String, String?, String?)] {
            #expect(try claims(request(url, token: token))["nonce"]?.string == nonce, "\(url)")
        }
    }

    @Test(arguments: [
        ServiceResponse(400, [:], #"{"error":"use_dpop_nonce"}"#),
        ServiceResponse(400, ["DPoP-Nonce": "a b"], #"{"error":"use_dpop_nonce"}"#),
        ServiceResponse(400, ["DPoP-Nonce": ""], #"{"error":"use_dpop_nonce"}"#),
        ServiceResponse(400, ["DPoP-Nonce": "n"], #"{"error":"invalid_grant"}"#),
        ServiceResponse(400, ["DPoP-Nonce": "n"], #"{"error":"invalid_dpop_proof"}"#),
        ServiceResponse(401, ["DPoP-Nonce": "n", "WWW-Authenticate": #"DPoP error="invalid_token""#]),
        ServiceResponse(401, ["DPoP-Nonce": "n", "WWW-Authenticate": #"Bearer error="use_dpop_nonce""#]),
        ServiceResponse(200, ["DPoP-Nonce": "n"], #"{"error":"use_dpop_nonce"}"#),
        ServiceResponse(503, ["DPoP-Nonce": "n"], #"{"error":"use_dpop_nonce"}"#),
    ])
    func `Sends a request only once after any other response`(response: ServiceResponse) async throws {
        #expect(try await exchange(request("https://id.example/token"), response).nonces.count == 1)
    }

    @Test func `Repeats a request with the date of the server if the clock is wrong`() async throws {
        let hour = ServiceResponse(
            400, ["Date": "Fri, 15 Jan 2027 09:00:00 GMT"], #"{"error":"invalid_dpop_proof"}"#)
        var dates: [Double?] = []
        _ = try await nonces.exchange(request("https://id.example/token"), clock: FixedClock()) { request in
            dates.append(try ReadProof(try #require(request.headerFields[.dpop])).claims["iat"]?.number)
            return hour
        }
        // The local clock shows 08:00:00.
        #expect(dates == [1_800_000_000, 1_800_003_600])
        #expect(try claims(request("https://id.example/token"))["iat"]?.number == 1_800_003_600)
    }
}
#endif
