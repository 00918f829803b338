#if Signatures
import AccountKit
import AccountSupport
import AccountTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import AccountHTTP

import struct Foundation.URL

/// Tokens that are bound to the key of their session (RFC 9449).
struct BoundTokensTests {
    private static let bound = #"{"access_token":"a2","refresh_token":"r2","token_type":"DPoP"}"#

    /// A server that responds to the requests of each path in their order. The last response repeats.
    private func withServer(
        _ responses: [String: [LoopbackServer.Action]],
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        let counter = PathCounter()
        try await LoopbackServer.run { request, _ in
            let path = String(request.target.prefix { $0 != "?" })
            guard let list = responses[path] else { return .response(404) }
            return list[min(counter.next(path), list.count - 1)]
        } _: { server in
            try await body(server)
        }
    }

    private func account(at server: LoopbackServer, _ key: ProofKey) -> Account {
        var account = AccountHTTPTests.account(at: server.address, refreshToken: "r1")
        account.credentials.tokenType = "DPoP"
        account.credentials.proofKey = key.secret
        return account
    }

    private func authority(_ server: LoopbackServer) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: server.address, clientID: "tool", scopes: ["openid"],
            options: OAuthRequestOptions(bindsTokens: true),
            endpoints: .all(at: server.address), clock: FixedClock())
    }

    private func proof(_ request: LoopbackServer.Request) throws -> ReadProof {
        try ReadProof(try #require(request.headers["dpop"]))
    }

    private static func demand(_ nonce: String) -> LoopbackServer.Action {
        .response(
            400, ["Content-Type": "application/json", "DPoP-Nonce": nonce], #"{"error":"use_dpop_nonce"}"#)
    }

    private static func challenge(_ error: String, nonce: String? = nil) -> LoopbackServer.Action {
        let field = #"DPoP algs="ES256", error="\#(error)""#
        guard let nonce else { return .response(401, ["WWW-Authenticate": field]) }
        return .response(401, ["WWW-Authenticate": field, "DPoP-Nonce": nonce])
    }

    // MARK: Sign-in

    @Test func `Signs in with one key for all requests`() async throws {
        try await withServer(["/token": [.json(Self.bound)], "/userinfo": [.json(#"{"sub":"alice"}"#)]]) { server in
            let account = try await authority(server).signIn(username: "alice", password: Secret("p"))
            #expect(account.credentials.requiresProof)
            let requests = server.requests
            #expect(requests.map(\.target) == ["/token", "/userinfo"])
            let (token, userInfo) = (try proof(requests[0]), try proof(requests[1]))
            #expect(token.publicKey == userInfo.publicKey)
            #expect(token.claims["htm"]?.string == "POST")
            #expect(token.claims["htu"]?.string == server.address + "/token" && token.claims["ath"] == nil)
            #expect(requests[1].headers["authorization"] == "DPoP a2")
            #expect(userInfo.claims["ath"]?.string == "LDpCSddwcAWGSdvYItyveVdYb85CjPssqIuUdB7aiwc")
            // A new session has a new key.
            let other = try await authority(server).signIn(username: "alice", password: Secret("p"))
            #expect(other.credentials.proofKey != account.credentials.proofKey)
        }
    }

    @Test func `Refuses and revokes tokens that the service did not bind`() async throws {
        try await withServer([
            "/token": [.json(#"{"access_token":"a2","token_type":"Bearer"}"#)], "/revoke": [.response(200)],
        ]) {
            server in
            let error = await #expect(throws: AccountError.self) {
                try await authority(server).signIn(username: "alice", password: Secret("p"))
            }
            #expect(error?.code == .misconfigured)
            for text in ["not bound to the key", "they have been revoked", "--no-dpop"] {
                #expect(error?.description.contains(text) == true, "\(String(describing: error))")
            }
            #expect(server.targets == ["/token", "/revoke"])
        }
    }

    @Test func `Accepts no bound token in response to a request without a proof`() async throws {
        try await withServer(["/token": [.json(Self.bound)]]) { server in
            let error = await #expect(throws: AccountError.self) {
                try await OAuthAuthority.direct(server).signIn(username: "alice", password: Secret("p"))
            }
            #expect(kind(error?.cause as? AuthorityError) == .unclear("…"))
            #expect(server.requests[0].headers["dpop"] == nil)
        }
    }

    // MARK: Refresh

    @Test func `Repeats a refresh once with the nonce, and keeps the key`() async throws {
        let key = try ProofKey.random()
        try await withServer(["/token": [Self.demand("n1"), .json(Self.bound)]]) { server in
            let account = account(at: server, key)
            let credentials = try await authority(server).refresh(account)
            #expect(credentials.proofKey == key.secret)
            #expect(credentials.refreshToken == Secret("r2"))
            let proofs = try server.requests.map(proof)
            #expect(proofs.map { $0.claims["nonce"]?.string } == [nil, "n1"])
            #expect(Set(proofs.map { $0.claims["jti"]?.string }).count == 2)
            #expect(server.requests.allSatisfy { $0.body.contains("refresh_token=r1") })
        }
    }

    @Test(arguments: [nil, "n1"])
    func `Begins with the stored nonce, and stores the newest one`(newest: String?) async throws {
        let field = newest == nil ? "X-Other" : "DPoP-Nonce"
        let response = LoopbackServer.Action.response(
            200, ["Content-Type": "application/json", field: newest ?? ""], Self.bound)
        try await withServer(["/token": [response]]) { server in
            var account = account(at: server, try ProofKey.random())
            account.credentials.proofNonce = "n0"
            let credentials = try await authority(server).refresh(account)
            #expect(try server.requests.map { try proof($0).claims["nonce"]?.string } == ["n0"])
            #expect(credentials.proofNonce == newest ?? "n0")
        }
    }

    @Test func `Obtains a nonce first if a refused proof may spend the token`() async throws {
        try await withServer(["/token": [Self.demand("n1"), .json(Self.bound)]]) { server in
            var account = account(at: server, try ProofKey.random())
            account.credentials.proofNonce = "old"
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", service: .bluesky, endpoints: .all(at: server.address))
            #expect(try await authority.refresh(account).refreshToken == Secret("r2"))
            #expect(server.requests.map { $0.body.contains("r1") } == [false, true])
            #expect(try proof(server.requests[1]).claims["nonce"]?.string == "n1")
        }
    }

    @Test func `Sends a refused refresh token at most twice`() async throws {
        let key = try ProofKey.random()
        try await withServer(["/token": [Self.demand("n1"), Self.demand("n2"), Self.demand("n3")]]) { server in
            let failure = await asyncFailure { try await authority(server).refresh(account(at: server, key)) }
            #expect(failure == .oauthError("use_dpop_nonce"))
            #expect(server.requests.count == 2)
        }
    }

    @Test func `Does not repeat a refresh if the lease ends before the second request`() async throws {
        let key = try ProofKey.random()
        try await withServer(["/token": [Self.demand("n1"), .json(Self.bound)]]) { server in
            let sessions = try await authority(server).service().sessions
            let exchange = try await sessions.prepare(.refresh, of: account(at: server, key))
            let calls = PathCounter()
            let failure = await asyncFailure { try await exchange.exchange { calls.next("call") == 0 } }
            #expect(failure == .leaseLost && failure?.wasCertainlyNotCarriedOut == true)
            #expect(server.requests.filter { $0.body.contains("r1") }.count == 1)
        }
    }

    @Test(arguments: [#""token_type":"Bearer""#, #""token_type":"DPoP""#, #""scope":"a""#])
    func `Keeps the tokens and the key of a refresh, whatever the type`(member: String) async throws {
        let key = try ProofKey.random()
        try await withServer(["/token": [.json(#"{"access_token":"a2","refresh_token":"r2",\#(member)}"#)]]) { server in
            let account = account(at: server, key)
            let renewed = account.credentials.renewed(by: try await authority(server).refresh(account))
            #expect(renewed.refreshToken == Secret("r2") && renewed.proofKey == key.secret)
            #expect(renewed.requiresProof == !member.contains("Bearer"))
            #expect(renewed.isWithheld == member.contains("Bearer"))
        }
    }

    @Test func `Sends nothing without the key`() async throws {
        try await withServer([:]) { server in
            var account = account(at: server, try ProofKey.random())
            for key in [nil, Secret("damaged")] {
                account.credentials.proofKey = key
                let authority = try authority(server)
                for failure in [
                    await asyncFailure { try await authority.refresh(account) },
                    await asyncFailure { try await authority.verify(account) },
                    await asyncFailure { try await authority.revoke(account) },
                ] { #expect(kind(failure) == .misconfigured("…")) }
            }
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: User info and revocation

    @Test func `Repeats a check with the nonce of the API`() async throws {
        let key = try ProofKey.random()
        let responses = [Self.challenge("use_dpop_nonce", nonce: "u1"), .json(#"{"sub":"248289761001"}"#)]
        try await withServer(["/userinfo": responses]) { server in
            _ = try await authority(server).verify(account(at: server, key))
            #expect(try server.requests.map { try proof($0).claims["nonce"]?.string } == [nil, "u1"])
        }
    }

    @Test(arguments: [
        (challenge("invalid_token"), AuthorityError.unauthorized(error: "invalid_token")),
        (challenge("invalid_dpop_proof"), .unauthorized(error: "invalid_dpop_proof")),
        (challenge("use_dpop_nonce"), .unauthorized(error: "use_dpop_nonce")),
        (.response(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#]), .unauthorized(error: nil)),
    ])
    func `Reads the challenge of the scheme that it sent`(
        response: LoopbackServer.Action, expected: AuthorityError
    ) async throws {
        let key = try ProofKey.random()
        try await withServer(["/userinfo": [response]]) { server in
            #expect(await asyncFailure { try await authority(server).verify(account(at: server, key)) } == expected)
        }
    }

    @Test func `Ignores a DPoP challenge to a Bearer token`() async throws {
        try await withServer(["/userinfo": [Self.challenge("invalid_token")]]) { server in
            let failure = await asyncFailure {
                try await authority(server).verify(AccountHTTPTests.account(at: server.address))
            }
            #expect(failure == .unauthorized(error: nil))
        }
    }

    @Test func `Revokes with a proof that does not contain the token`() async throws {
        let key = try ProofKey.random()
        try await withServer(["/revoke": [Self.demand("n1"), .response(200)]]) { server in
            #expect(try await authority(server).revoke(account(at: server, key)) == .done)
            let claims = try server.requests.map { try proof($0).claims }
            // One nonce serves the refresh token, after the first attempt, and the access token.
            #expect(claims.map { $0["nonce"]?.string } == [nil, "n1", "n1"])
            #expect(claims.allSatisfy { $0["ath"] == nil })
        }
    }

    // MARK: Requests to an API

    private func client(_ server: LoopbackServer, _ key: ProofKey) async throws -> AuthenticatedClient {
        var account = Account.testing(at: ManualClock().now)
        account.credentials.tokenType = "DPoP"
        account.credentials.proofKey = key.secret
        return try AuthenticatedClient(
            origin: server.address, store: try await .inMemory(signedIn: account), authority: ScriptedAuthority())
    }

    @Test func `Adds a proof to each request to an API`() async throws {
        let key = try ProofKey.random()
        let responses = [Self.challenge("use_dpop_nonce", nonce: "a1"), .json("{}")]
        try await withServer(["/notes": responses]) { server in
            let client = try await client(server, key)
            #expect(try await client.get("/notes?page=2").head.status == 200)
            #expect(try await client.delete("/notes").head.status == 200)
            let claims = try server.requests.map { try proof($0).claims }
            #expect(claims.map { $0["nonce"]?.string } == [nil, "a1", "a1"])
            #expect(claims.map { $0["htm"]?.string } == ["GET", "GET", "DELETE"])
            #expect(claims.allSatisfy { $0["htu"]?.string == server.address + "/notes" && $0["ath"] != nil })
            #expect(server.requests.allSatisfy { $0.headers["authorization"] == "DPoP access-1" })
        }
    }

    @Test func `Refreshes a bound token that an API calls invalid`() async throws {
        let key = try ProofKey.random()
        try await withServer(["/notes": [Self.challenge("invalid_token"), .json("{}")]]) { server in
            var account = Account.testing(at: ManualClock().now.addingTimeInterval(-3600), expiringIn: .seconds(7200))
            account.credentials.tokenType = "DPoP"
            account.credentials.proofKey = key.secret
            var tokens = Credentials(accessToken: Secret("access-2"), tokenType: "DPoP", issuedAt: ManualClock().now)
            tokens.refreshToken = Secret("refresh-2")
            let client = try AuthenticatedClient(
                origin: server.address, store: try await .inMemory(signedIn: account),
                authority: ScriptedAuthority(refresh: [.tokens(tokens)]))
            #expect(try await client.get("/notes").head.status == 200)
            #expect(server.requests.map { $0.headers["authorization"] } == ["DPoP access-1", "DPoP access-2"])
            #expect(try proof(server.requests[0]).publicKey == proof(server.requests[1]).publicKey)
        }
    }

    @Test func `Adds a proof for the complete URL to a request of another client`() async throws {
        let key = try ProofKey.random()
        try await withServer([:]) { server in
            let client = try await client(server, key)
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/notes?page=2")
            let nonce = try #require(HTTPField.Name("DPoP-Nonce"))
            var sent: [HTTPRequest] = []
            let base = try #require(URL(string: server.address + "/v1/"))
            let (head, _) = try await client.authorize(request, at: base, canBeRepeated: true) { message in
                sent.append(message)
                guard sent.count == 1 else { return (HTTPResponse(status: .ok), "") }
                let fields: HTTPFields = [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, nonce: "m1"]
                return (HTTPResponse(status: .unauthorized, headerFields: fields), "")
            } reading: {
                (Data($0.utf8), $0)
            }
            #expect(head.status == .ok && sent.count == 2)
            let claims = try sent.map { try ReadProof(try #require($0.headerFields[.dpop])).claims }
            #expect(claims.map { $0["nonce"]?.string } == [nil, "m1"])
            #expect(claims.allSatisfy { $0["htu"]?.string == server.address + "/v1/notes" })
        }
    }

    @Test func `Refuses a proof of the caller`() async throws {
        let key = try ProofKey.random()
        try await withServer([:]) { server in
            let request = HTTPRequest(
                method: .get, scheme: nil, authority: nil, path: "/", headerFields: [.dpop: "proof"])
            let client = try await client(server, key)
            await expectAccountError(.invalidArgument) { try await client.send(request) }
        }
    }
}

/// Counts the requests of each path.
private final class PathCounter: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// The number of earlier calls for a path.
    func next(_ path: String) -> Int {
        counts.withLock { counts in
            defer { counts[path, default: 0] += 1 }
            return counts[path, default: 0]
        }
    }
}
#endif
