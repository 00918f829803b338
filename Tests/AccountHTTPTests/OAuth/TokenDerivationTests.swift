import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Derived tokens")
struct TokenDerivationTests {
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessTokenType = "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
    private static let response = #"{"access_token":"derived","token_type":"Bearer","expires_in":60}"#

    /// Runs a test with a server whose discovery document lists these grants.
    private func run(
        grants: String? = nil, response: String = response, status: Int = 200, resources: [String] = [],
        _ test: (OAuthAuthority, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            guard request.target.hasPrefix("/.well-known/openid-configuration") else {
                return request.target == "/token" ? .json(response, status: status) : .response(404)
            }
            let document = discoveryDocument(address)
            return .json(grants.map { document.dropLast() + #","grant_types_supported":\#($0)}"# } ?? document)
        } _: { server in
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", scopes: ["openid"],
                options: OAuthRequestOptions(resources: resources), clock: FixedClock())
            try await test(authority, server)
        }
    }

    private func body(_ server: LoopbackServer) -> String? { server.requests.last { $0.target == "/token" }?.body }

    // MARK: Choosing the grant

    @Test("Requires token exchange only for a target with an audience")
    func means() async throws {
        let byResource = try TokenTarget(resources: ["urn:a"])
        let byAudience = try TokenTarget(audience: "api")
        let byScope = try TokenTarget(scopes: ["openid"])
        for isListed in [true, false] {
            try await run(grants: isListed ? "[\"\(Self.exchange)\"]" : nil) { authority, server in
                let renewable = account(at: server.address, refreshToken: "r")
                let bare = account(at: server.address)
                let byRefresh = try await authority.tokenDerivation(for: byResource, of: renewable)
                #expect(byRefresh == .refresh)
                #expect(server.requests.isEmpty, "this needs no request")
                if isListed {
                    for (target, account) in [(byAudience, renewable), (byResource, bare)] {
                        let byExchange = try await authority.tokenDerivation(for: target, of: account)
                        #expect(byExchange == .tokenExchange)
                    }
                } else {
                    for (target, account) in [(byAudience, renewable), (byResource, bare)] {
                        let thrown = await asyncFailure {
                            try await authority.tokenDerivation(for: target, of: account)
                        }
                        #expect(kind(thrown) == .misconfigured("…"))
                    }
                }
                // A refresh may narrow the session.
                let forScope = try await authority.tokenDerivation(for: byScope, of: renewable)
                #expect(forScope == (isListed ? .tokenExchange : .refresh))
                #expect(body(server) == nil)
            }
        }
    }

    @Test("Refuses a derived token that exceeds the scopes of the sign-in")
    func wider() async throws {
        try await run(resources: ["urn:a", "urn:b"]) { authority, server in
            var renewable = account(at: server.address, refreshToken: "r")
            renewable.credentials.scopes = ["openid", "granted"]
            for (resources, scopes, isPart) in [
                (["urn:a"], [], true), (["urn:b", "urn:a"], ["granted", "openid"], true), (["urn:c"], [], false),
                (["urn:a", "urn:c"], [], false), ([], ["granted"], true), ([], ["other"], false),
            ] as [([String], [String], Bool)] {
                let target = try TokenTarget(resources: resources, scopes: scopes)
                let thrown = await asyncFailure { try await authority.tokenDerivation(for: target, of: renewable) }
                #expect(kind(thrown) == (isPart ? nil : .misconfigured("…")), "\(target)")
            }
            // If the service did not report the scopes, the target cannot be checked.
            renewable.credentials.scopes = []
            let unknown = try await authority.tokenDerivation(for: try TokenTarget(scopes: ["other"]), of: renewable)
            #expect(unknown == .refresh)
            #expect(body(server) == nil)
        }
    }

    @Test("Reports an unreachable service rather than missing token exchange")
    func unreachable() async throws {
        let authority = try OAuthAuthority.test("http://127.0.0.1:1")
        let thrown = await asyncFailure {
            try await authority.tokenDerivation(
                for: try TokenTarget(audience: "api"), of: account(at: authority.issuer))
        }
        #expect(kind(thrown) == .noResponse(.refused))
    }

    // MARK: Requests

    @Test("Sends only the target's resources and scopes in a derivation refresh")
    func refresh() async throws {
        try await run(
            response: #"{"access_token":"derived","refresh_token":"r2","scope":"a"}"#, resources: ["urn:own"]
        ) { authority, server in
            let target = try TokenTarget(resources: ["urn:b", "https://a.example/"], scopes: ["b", "a"])
            let credentials = try await authority.exchangeToken(
                for: target, of: account(at: server.address, refreshToken: "r+1"), by: .refresh)
            #expect(credentials.accessToken == Secret("derived"))
            #expect(credentials.refreshToken == Secret("r2"))
            #expect(credentials.scopes == ["a"])
            #expect(
                body(server)
                    == "grant_type=refresh_token&refresh_token=r%2B1&scope=a+b&resource=https%3A%2F%2Fa.example%2F"
                    + "&resource=urn%3Ab&client_id=tool")
        }
    }

    @Test("Keeps the sign-in's resources for a target with only scopes")
    func scopeOnly() async throws {
        try await run(resources: ["urn:own"]) { authority, server in
            _ = try await authority.exchangeToken(
                for: try TokenTarget(scopes: ["a"]), of: account(at: server.address, refreshToken: "r"), by: .refresh)
            #expect(
                body(server) == "grant_type=refresh_token&refresh_token=r&scope=a&resource=urn%3Aown&client_id=tool")
        }
    }

    @Test("Keeps the scope offline_access in a request for fewer scopes", arguments: [true, false])
    func offlineAccess(isGranted: Bool) async throws {
        try await run { authority, server in
            var renewable = account(at: server.address, refreshToken: "r")
            renewable.credentials.scopes = ["z"] + (isGranted ? ["offline_access"] : [])
            for scopes in [["z"], isGranted ? ["z", "offline_access"] : ["z"]] {
                _ = try await authority.exchangeToken(
                    for: try TokenTarget(scopes: scopes), of: renewable, by: .refresh)
                let words = body(server)?.split(separator: "&").first { $0.hasPrefix("scope=") }?.dropFirst(6)
                let sent = words?.split(separator: "+").sorted()
                #expect(sent == (isGranted ? ["offline_access", "z"] : ["z"]))
            }
            // Without scopes, nothing is narrowed. An exchange returns no refresh token.
            _ = try await authority.exchangeToken(
                for: try TokenTarget(resources: ["urn:a"]), of: renewable, by: .refresh)
            #expect(body(server)?.contains("scope=") == false)
            _ = try await authority.exchangeToken(
                for: try TokenTarget(audience: "a", scopes: ["z"]), of: renewable, by: .tokenExchange)
            #expect(body(server)?.contains("scope=z&") == true)
        }
    }

    @Test("Sends the access token, never the refresh token, in a token exchange")
    func tokenExchange() async throws {
        let response =
            #"{"access_token":"derived","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}"#
        try await run(response: response, resources: ["urn:own"]) { authority, server in
            let credentials = try await authority.exchangeToken(
                for: try TokenTarget(audience: "the api", scopes: ["a"]),
                of: account(at: server.address, refreshToken: "secret refresh"), by: .tokenExchange)
            #expect(credentials.accessToken == Secret("derived"))
            #expect(
                body(server)
                    == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
                    + "&subject_token=CANARY-f3b1c0de.5e7.x_y%7Ez&subject_token_type=\(Self.accessTokenType)"
                    + "&requested_token_type=\(Self.accessTokenType)&audience=the+api&scope=a&client_id=tool")
        }
    }

    @Test("Derives no token at another service or without a refresh token")
    func elsewhere() async throws {
        try await run { authority, server in
            let target = try TokenTarget(scopes: ["a"])
            for (account, means) in [
                (account(at: "https://other.example", refreshToken: "r"), TokenDerivation.refresh),
                (account(at: "https://other.example"), .tokenExchange), (account(at: server.address), .refresh),
            ] {
                let thrown = await asyncFailure {
                    try await authority.exchangeToken(for: target, of: account, by: means)
                }
                #expect(kind(thrown) == .misconfigured("…"))
            }
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: Responses

    @Test(
        "Reports an error for a derivation without repeating a token",
        arguments: ["invalid_target", "invalid_scope", "unauthorized_client", "invalid_request", "invalid_grant"])
    func refused(code: String) async throws {
        for means in [TokenDerivation.refresh, .tokenExchange] {
            try await run(
                response: #"{"error":"\#(code)","error_description":"not for \#(canary)"}"#, status: 400
            ) { authority, server in
                let thrown = await asyncFailure {
                    try await authority.exchangeToken(
                        for: try TokenTarget(resources: ["urn:a"]),
                        of: account(at: server.address, refreshToken: canary), by: means)
                }
                #expect(kind(thrown) == .oauthError(code))
                #expect(!String(reflecting: thrown).contains(canary))
            }
        }
    }

    @Test("Rejects an exchanged token of another type")
    func otherKind() async throws {
        for type in ["urn:ietf:params:oauth:token-type:refresh_token", "urn:ietf:params:oauth:token-type:id_token"] {
            try await run(
                response: #"{"access_token":"x","issued_token_type":"\#(type)","token_type":"Bearer"}"#
            ) { authority, server in
                let thrown = await asyncFailure {
                    try await authority.exchangeToken(
                        for: try TokenTarget(audience: "api"), of: account(at: server.address), by: .tokenExchange)
                }
                #expect(kind(thrown) == .unclear("…"))
            }
        }
        try await run(
            response:
                #"{"access_token":"x","issued_token_type":"urn:ietf:params:oauth:token-type:id_token","token_type":"N_A"}"#
        ) { authority, server in
            let thrown = await asyncFailure {
                try await authority.exchangeToken(
                    for: try TokenTarget(audience: "api"), of: account(at: server.address), by: .tokenExchange)
            }
            #expect(kind(thrown) == .unclear("…"))
        }
    }

    // MARK: Revoking

    @Test("Revokes derived tokens with the other tokens on sign-out")
    func revoke() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/token" ? .json(Self.response) : .response(200)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let store = try await AccountStore.inMemory(
                signedIn: account(at: server.address, refreshToken: "r"), clock: ManualClock(FixedClock().now))
            _ = try await store.accessToken(for: try TokenTarget(resources: ["urn:a"]), timeout: nil, with: authority)
            #expect(try await store.signOut(with: authority).revocation == .done)
            let revoked = server.requests.filter { $0.target == "/revoke" }.map(\.body)
            #expect(
                revoked.map { $0.prefix { $0 != "&" } } == [
                    "token=r", "token=CANARY-f3b1c0de.5e7.x_y%7Ez", "token=derived",
                ]
            )
        }
    }
}
