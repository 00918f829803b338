import AccountKit
import AccountSupport
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// A session for an API works, and is verified, whether or not the service names its user.
struct APICheckTests {
    private static let invalidToken: LoopbackServer.Action = .response(
        401, ["WWW-Authenticate": #"Bearer error="invalid_token""#])

    /// An API at `/mcp`, and its authorization server.
    ///
    /// - Parameters:
    ///   - userInfo: The response of user info; `nil` for a service without this endpoint.
    ///   - api: The response of the API to a request with a token.
    ///   - isOpen: Whether the API responds without a token too.
    private func run(
        userInfo: LoopbackServer.Action? = .response(404), api: LoopbackServer.Action = .json("{}"),
        token: String = "access", isAPINamed: Bool = true, isOpen: Bool = false,
        _ body: (LoopbackServer, OAuthAuthority) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target.prefix(while: { $0 != "?" }) {
            case "/mcp":
                return isOpen || request.headers["authorization"] == "Bearer \(token)"
                    ? api : .response(401, ["WWW-Authenticate": "Bearer"])
            case "/.well-known/oauth-protected-resource/mcp":
                return .json(#"{"resource":"\#(address)/mcp","authorization_servers":["\#(address)"]}"#)
            case "/.well-known/oauth-authorization-server":
                let endpoint = userInfo == nil ? "" : #","userinfo_endpoint":"\#(address)/userinfo""#
                return .json(
                    #"{"issuer":"\#(address)","token_endpoint":"\#(address)/token","#
                        + #""device_authorization_endpoint":"\#(address)/device"\#(endpoint)}"#)
            case "/token":
                return .json(#"{"access_token":"\#(token)","token_type":"Bearer","refresh_token":"refresh"}"#)
            case "/userinfo": return userInfo ?? .response(404)
            default: return .response(404)
            }
        } _: { server in
            let authority = try OAuthAuthority(
                api: server.address + "/mcp", issuer: isAPINamed ? nil : server.address,
                client: OAuthClient(identifier: "tool"),
                timeout: .seconds(20), clock: FixedClock())
            try await body(server, authority)
        }
    }

    private func signIn(with authority: OAuthAuthority) async throws -> Account {
        let credentials = try await authority.pollDeviceSignIn(
            DeviceAuthorization(
                deviceCode: Secret("d"), userCode: "X", verificationURI: "https://example.com", lifetime: .seconds(60)))
        return try await authority.account(with: credentials)
    }

    private func authorizedRequests(_ server: LoopbackServer, at target: String) -> Int {
        server.requests.filter { $0.target == target && $0.headers["authorization"] != nil }.count
    }

    // MARK: The user

    @Test(
        arguments: [
            nil, .response(404), .response(405), .response(410), .response(500), .response(503), .response(429),
            .response(401), invalidToken, .response(403), .response(302, ["Location": "https://other.example/"]),
            .response(200, ["Content-Type": "text/html"], "<html>"), .json("{}"), .json("[]"), .json(#"{"sub":""}"#),
            .json(#"{"sub":null}"#), .response(200, [:], "no JSON"), .response(204),

            .response(200, ["Content-Type": "application/json"], String(repeating: " ", count: 2 << 20) + "{}"),
        ] as [LoopbackServer.Action?])
    func `Signs in and verifies, whatever user info responds`(userInfo: LoopbackServer.Action?) async throws {
        try await run(userInfo: userInfo) { server, authority in
            let account = try await signIn(with: authority)
            #expect(account.isUnidentified && account.isNamedAfterAPI)
            #expect(account.displayName == String(server.address.dropFirst("http://".count)))
            #expect(authorizedRequests(server, at: "/userinfo") == (userInfo == nil ? 0 : 1))
            let identity = try await authority.verify(account)
            #expect(identity.id == account.id)
            #expect(authorizedRequests(server, at: "/userinfo") == (userInfo == nil ? 0 : 1))
            #expect(authorizedRequests(server, at: "/mcp") == 1)
        }
    }

    @Test func `User info identifies the user of a token without openid`() async throws {
        try await run(userInfo: .json(#"{"sub":"7","preferred_username":"jane"}"#)) { server, authority in
            let account = try await signIn(with: authority)
            #expect(account.id == "7" && account.username == "jane" && !account.isNamedAfterAPI)
            #expect(try await authority.verify(account).id == "7")
            #expect(authorizedRequests(server, at: "/mcp") == 0)
        }
    }

    @Test(
        arguments: [
            .response(404), .response(500), .response(403), invalidToken, .response(401), .json("[]"),
            .response(200, ["Content-Type": "text/html"], "<html>"),
        ] as [LoopbackServer.Action])
    func `Asks the API if user info fails later`(userInfo: LoopbackServer.Action) async throws {
        try await run(userInfo: userInfo) { server, authority in
            // User info identified the user at the sign-in, without the scope `openid`.
            var account = AccountHTTPTests.account(at: server.address, id: "7", refreshToken: "refresh")
            account.credentials.accessToken = Secret("access")
            account.credentials.resources = [server.address + "/mcp"]
            let identity = try await authority.verify(account)
            #expect(identity.id == "7")
            #expect(authorizedRequests(server, at: "/mcp") == 1)
        }
    }

    @Test func `A refusal of user info is definite for a token with openid`() async throws {
        try await run(userInfo: Self.invalidToken) { server, authority in
            var account = AccountHTTPTests.account(at: server.address, id: "7")
            account.credentials.accessToken = Secret("access")
            (account.credentials.resources, account.credentials.scopes) = ([server.address + "/mcp"], ["openid"])
            let failure = await asyncFailure { try await authority.verify(account) }
            #expect(failure == .unauthorized(error: "invalid_token"))
            #expect(authorizedRequests(server, at: "/mcp") == 0)
        }
    }

    @Test func `Names the user when user info works again, and keeps the ID`() async throws {
        try await run(userInfo: .json(#"{"sub":"7","preferred_username":"jane"}"#)) { server, authority in
            var account = AccountHTTPTests.account(at: server.address, id: "local:1")
            account.credentials.accessToken = Secret("access")
            account.credentials.resources = [server.address + "/mcp"]
            let identity = try await authority.verify(account)
            #expect(identity.id == "local:1" && identity.username == "jane")
        }
    }

    // MARK: The response of the API

    enum Verdict: Sendable, Equatable {
        case accepted
        case reported
        case failed(AuthorityError)
    }

    static let scope = #"Bearer error="insufficient_scope", scope="notes:write""#
    static let table: [(LoopbackServer.Action, Verdict)] = [
        (.json("{}"), .accepted), (.response(204), .accepted), (.response(202), .accepted),
        (.response(200, ["Content-Type": "text/event-stream"], "data: x\n\n"), .accepted),
        (.response(200, ["Content-Type": "text/html"], "<html>"), .accepted),
        (.response(307, ["Location": "/mcp/"]), .accepted), (.response(304), .accepted),
        (.response(400), .accepted), (.response(403), .accepted), (.response(404), .accepted),
        (.response(405, ["Allow": "POST"]), .accepted), (.response(406), .accepted), (.response(410), .accepted),
        (.response(415), .accepted), (.response(500), .accepted), (.response(501), .accepted),
        (.response(403, ["WWW-Authenticate": scope]), .reported),
        (
            .response(401, ["WWW-Authenticate": #"Bearer error="insufficient_user_authentication", acr_values="mfa""#]),
            .reported
        ),
        (.response(401), .failed(.unauthorized(error: nil))), (invalidToken, .failed(.unauthorized(error: nil))),
        (.response(401, ["WWW-Authenticate": "Basic realm=x"]), .failed(.unauthorized(error: nil))),
        (.response(401, ["WWW-Authenticate": #"Bearer error="invalid_request""#]), .failed(.unauthorized(error: nil))),
        (
            .response(401, ["WWW-Authenticate": #"DPoP error="invalid_dpop_proof""#]),
            .failed(.unauthorized(error: "invalid_dpop_proof"))
        ),
        (.response(407), .failed(.proxyAuthenticationRequired)),
        (.response(429), .failed(.unavailable(status: 429, retryAfter: nil))),
        (.response(502), .failed(.unavailable(status: 502, retryAfter: nil))),
        (.response(503, ["Retry-After": "9"]), .failed(.unavailable(status: 503, retryAfter: .seconds(9)))),
        (.response(504), .failed(.unavailable(status: 504, retryAfter: nil))),
        (.response(511), .failed(.intercepted("…"))),
        (.response(302, ["Location": "https://other.example/login"]), .failed(.intercepted("…"))),
    ]

    @Test(arguments: table.indices)
    func `Judges a session by the response of the API`(index: Int) async throws {
        let (response, verdict) = Self.table[index]
        try await run(userInfo: nil, api: response) { server, authority in
            let account = try await signIn(with: authority)
            switch verdict {
            case .accepted, .reported:
                #expect(try await authority.verify(account).id == account.id)
                #expect((authority.unmetRequirement != nil) == (verdict == .reported))
            case .failed(let expected):
                let failure = await asyncFailure { try await authority.verify(account) }
                #expect(kind(failure) == expected)
            }
        }
    }

    @Test func `Is offline if the API does not respond`() async throws {
        try await run(userInfo: nil, api: .reset) { server, authority in
            let account = try await signIn(with: authority)
            let failure = try #require(await asyncFailure { try await authority.verify(account) })
            #expect(SessionDecision.reason(for: failure).code == .offline)
        }
    }

    @Test func `A 401 of the API refreshes once, and never ends the session`() {
        for holdsRefreshToken in [true, false] {
            let first = SessionDecision.afterVerification(
                .unauthorized(error: nil), .init(holdsRefreshToken: holdsRefreshToken))
            let isKept = if case .keep(let reason) = first { reason.code == .unclearReply } else { false }
            #expect(holdsRefreshToken ? first == .refreshOnce : isKept)
        }
        let second = SessionDecision.afterVerification(
            .unauthorized(error: nil), .init(holdsRefreshToken: true, justRefreshed: true))
        guard case .keep(let reason) = second else {
            Issue.record("\(second)")
            return
        }
        #expect(reason.code == .unclearReply)
    }

    // MARK: Where the token is sent

    @Test func `Sends no token to the API that the token is not for`() async throws {
        let claims = Base64URL.encode(Array(#"{"aud":"https://other.example"}"#.utf8))
        try await run(userInfo: nil, token: "e30.\(claims).x") { server, authority in
            let account = try await signIn(with: authority)
            let failure = await asyncFailure { try await authority.verify(account) }
            #expect(kind(failure) == .misconfigured("…"))
            #expect(authorizedRequests(server, at: "/mcp") == 0)
        }
    }

    @Test func `Asks the API of the sign-in after the settings are lost`() async throws {
        try await run(userInfo: .response(401)) { server, authority in
            let account = try await signIn(with: authority)
            let plain = try OAuthAuthority(issuer: server.address, clientID: "tool", clock: FixedClock())
            #expect(try await plain.verify(account).id == account.id)
            #expect(authorizedRequests(server, at: "/mcp") == 1)
            #expect(authorizedRequests(server, at: "/userinfo") == 1)
        }
    }

    @Test func `Is no authority of an account for another API of the issuer`() async throws {
        try await run { server, _ in
            let authority = try OAuthAuthority(
                api: server.address + "/mcp", issuer: "https://id.example", client: OAuthClient(identifier: "tool"))
            var account = AccountHTTPTests.account(at: "https://id.example")
            #expect(authority.isAuthority(of: account))
            for (resource, isSame) in [
                ("/mcp", true), ("", true), ("/mcp/", true), ("/other", false), ("/mcpx", false),
                ("/mcp/deeper", false),
            ] {
                account.credentials.resources = [server.address + resource]
                #expect(authority.isAuthority(of: account) == isSame, "\(resource)")
            }
            account.credentials.resources = ["https://other.example"]
            #expect(!authority.isAuthority(of: account))
        }
    }

    // MARK: An existing token

    @Test(arguments: [nil, .response(404), invalidToken, .response(500)] as [LoopbackServer.Action?])
    func `The API confirms an existing token that user info does not`(userInfo: LoopbackServer.Action?) async throws {
        try await run(userInfo: userInfo, isAPINamed: false) { server, authority in
            let account = try await authority.signIn(token: Secret("access"))
            #expect(account.isNamedAfterAPI && account.credentials.resources == [server.address + "/mcp"])
            let failure = await asyncFailure { try await authority.signIn(token: Secret("wrong")) }
            #expect(kind(failure) == .signInRefused("…"))
        }
    }

    @Test(
        arguments: [nil, .response(404), invalidToken] as [LoopbackServer.Action?],
        [LoopbackServer.Action.json("{}"), .response(404)])
    func `An API that requires no token confirms none`(
        userInfo: LoopbackServer.Action?, api: LoopbackServer.Action
    ) async throws {
        try await run(userInfo: userInfo, api: api, isAPINamed: false, isOpen: true) { _, authority in
            let failure = await asyncFailure { try await authority.signIn(token: Secret("wrong")) }
            #expect(kind(failure) == .signInRefused("…"))
        }
    }

    @Test func `A service at the URL of the API decides about its own token`() async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/.well-known/oauth-authorization-server":
                .json(
                    #"{"issuer":"\#(address)","token_endpoint":"\#(address)/token","userinfo_endpoint":"\#(address)/userinfo"}"#
                )
            case "/userinfo", "/": Self.invalidToken
            default: .response(404)
            }
        } _: { server in
            let authority = try OAuthAuthority(api: server.address, client: OAuthClient(identifier: "tool"))
            let failure = await asyncFailure { try await authority.signIn(token: Secret("wrong")) }
            #expect(failure == .unauthorized(error: "invalid_token"))
        }
    }
}
