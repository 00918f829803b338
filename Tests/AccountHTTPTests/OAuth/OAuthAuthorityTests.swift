import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("OAuthAuthority")
struct OAuthAuthorityTests {
    static let user = #"{"sub":"248289761001","preferred_username":"jane","email":"jane@example.com"}"#

    // MARK: Verify

    @Test("Verifies an account with its token at the user info endpoint")
    func verify() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let identity = try await authority.verify(account(at: server.address))
            #expect(identity.id == "248289761001")
            #expect(identity.username == "jane")
            #expect(identity.profile.email == "jane@example.com")
            #expect(server.requests.map { "\($0.method) \($0.target)" } == ["GET /userinfo"])
            #expect(server.requests.first?.headers["authorization"] == "Bearer \(canary)")
        }
    }

    @Test("Reports a token that belongs to another user")
    func otherUser() async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"sub":"7"}"#)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let thrown = await asyncFailure {
                try await authority.verify(account(at: server.address))
            }
            #expect(thrown == .otherUser(id: "7"))
        }
    }

    @Test(
        "Does not send the token of another service's account",
        arguments: [nil, "https://other.example", "http://127.0.0.1:1"])
    func otherService(_ issuer: String?) async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let other = account(at: issuer, refreshToken: canary)
            let signals = [
                await asyncFailure { try await authority.verify(other) },
                await asyncFailure { try await authority.refresh(other) },
                await asyncFailure { try await authority.revoke(other) },
            ]
            #expect(signals.map { kind($0) } == Array(repeating: .misconfigured("…"), count: 3))
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Ignores a trailing slash in the account's issuer")
    func slash() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            #expect(try await authority.verify(account(at: server.address + "/")).id == "248289761001")
        }
    }

    @Test(
        "Neither sends nor reveals a stored token that is invalid in a header", arguments: ["\r\nX-Evil: 1", " ", "ü"])
    func impossibleToken(_ tail: String) async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            var broken = account(at: server.address)
            broken.credentials.accessToken = Secret(canary + tail)
            let thrown = await asyncFailure { try await authority.verify(broken) }
            #expect(kind(thrown) == .unclear("…"))
            #expect(!String(reflecting: thrown).contains(canary))
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Reports an error for a check without a user info endpoint")
    func noUserInfo() async throws {
        try await LoopbackServer.run { _, address in
            .json(discoveryDocument(address, without: "userinfo_endpoint"))
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let verified = await asyncFailure {
                try await authority.verify(account(at: server.address))
            }
            let signedIn = await asyncFailure {
                try await authority.signIn(token: Secret(canary))
            }
            #expect(kind(verified) == .misconfigured("…"))
            #expect(kind(signedIn) == .misconfigured("…"))
        }
    }

    // MARK: Refresh and revoke

    @Test("Refreshes with the client ID that the refresh token was issued to")
    func refresh() async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"access_token":"new","expires_in":60,"scope":"openid"}"#)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            var old = account(at: server.address, refreshToken: "r+1")
            old.credentials.clientID = "old tool"
            let credentials = try await authority.refresh(old)
            #expect(credentials.accessToken == Secret("new"))
            #expect(credentials.refreshToken == nil)
            #expect(credentials.clientID == "old tool")
            #expect(credentials.expiresAt == FixedClock().now.addingTimeInterval(60))
            let request = try #require(server.requests.first)
            #expect(request.method == "POST")
            #expect(request.target == "/token")
            #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")
            #expect(request.headers["authorization"] == nil)
            #expect(request.body == "grant_type=refresh_token&refresh_token=r%2B1&client_id=old+tool")
        }
    }

    @Test(
        "Refreshes a narrowed session with all scopes, or with none if refused",
        arguments: [true, false])
    func refreshNarrowed(isGranted: Bool) async throws {
        try await LoopbackServer.run { request, _ in
            guard isGranted || !request.body.contains("scope=") else {
                return .json(#"{"error":"invalid_scope"}"#, status: 400)
            }
            return .json(#"{"access_token":"new","expires_in":60}"#)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            var old = account(at: server.address, refreshToken: "r")
            old.credentials.scopes = ["openid"]
            old.credentials.signInScopes = ["openid", "email"]
            let credentials = old.credentials.renewed(by: try await authority.refresh(old))
            #expect(credentials.accessToken == Secret("new"))
            #expect(credentials.scopes == (isGranted ? ["openid", "email"] : ["openid"]))
            #expect(credentials.signInScopes == (isGranted ? [] : ["openid", "email"]))
            let form = "grant_type=refresh_token&refresh_token=r"
            let bodies = ["\(form)&scope=openid+email&client_id=tool", "\(form)&client_id=tool"]
            #expect(server.requests.map(\.body) == (isGranted ? [bodies[0]] : bodies))
        }
    }

    @Test("Sends no refresh request without a refresh token")
    func noRefreshToken() async throws {
        try await LoopbackServer.run { server in
            let authority = try OAuthAuthority.direct(server)
            let thrown = await asyncFailure {
                try await authority.refresh(account(at: server.address))
            }
            #expect(kind(thrown) == .misconfigured("…"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Revokes the refresh token, if present, before the access token")
    func revoke() async throws {
        try await LoopbackServer.run { _, _ in
            .response(200)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            #expect(try await authority.revoke(account(at: server.address, refreshToken: "r")) == .done)
            #expect(try await authority.revoke(account(at: server.address)) == .done)
            #expect(
                server.requests.map(\.body) == [
                    "token=r&token_type_hint=refresh_token&client_id=tool",
                    "token=\(canary.replacing("~", with: "%7E"))&token_type_hint=access_token&client_id=tool",
                    "token=\(canary.replacing("~", with: "%7E"))&token_type_hint=access_token&client_id=tool",
                ])
            #expect(server.targets == ["/revoke", "/revoke", "/revoke"])
        }
    }

    @Test("Sends no revocation to a service without a revocation endpoint")
    func noRevocation() async throws {
        try await LoopbackServer.run { server in
            let authority = try OAuthAuthority.test(
                server.address, endpoints: OAuthEndpoints(token: server.address + "/token"))
            #expect(try await authority.revoke(account(at: server.address)) == .notSupported)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(
        "Treats revocation as unsupported if the second document is unusable",
        arguments: [
            .response(404), .json("[]"), .response(302, ["Location": "/revoke"]), .response(403),
            .response(200, ["Content-Type": "text/html"], "<html>the app</html>"),
            .json(#"{"issuer":"https://evil.example","revocation_endpoint":"https://evil.example/revoke"}"#),
            .json(#"{"revocation_endpoint":"https://evil.example/revoke"}"#),
        ] as [LoopbackServer.Action])
    func noRevocationElsewhere(_ action: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { request, address in
            request.target.contains("openid-configuration")
                ? .json(discoveryDocument(address, without: "revocation_endpoint")) : action
        } _: { server in
            let outcome = try await OAuthAuthority.test(server.address).revoke(account(at: server.address))
            #expect(outcome == .notSupported)
            #expect(
                server.targets == ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"])
        }
    }

    @Test(
        "Does not treat revocation as unsupported if a document request fails",
        arguments: [.response(503), .reset, .response(429), .response(511)] as [LoopbackServer.Action], [true, false])
    func discoveryInTrouble(_ action: LoopbackServer.Action, _ isFirst: Bool) async throws {
        try await LoopbackServer.run { request, address in
            request.target.contains("openid-configuration") != isFirst
                ? .json(discoveryDocument(address, without: "revocation_endpoint")) : action
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let signal = await asyncFailure { try await authority.revoke(account(at: server.address)) }
            let decision = signal.map { SessionDecision.afterRevocation($0) }
            #expect(decision == .tryLater)
        }
    }

    struct Refusal: Sendable {
        /// The responses for the refresh token and the access token.
        var responses: [LoopbackServer.Action]
        var signal: AuthorityError?
        var requests = 2

        private static func error(_ code: String) -> LoopbackServer.Action {
            .json(#"{"error":"\#(code)"}"#, status: 400)
        }

        static let all: [Refusal] = [
            Refusal(responses: [.response(200), .response(200)]),
            // A service that revokes only refresh tokens has done all that it can.
            Refusal(responses: [.response(200), error("unsupported_token_type")]),
            Refusal(responses: [.response(200), error("invalid_token")]),
            Refusal(responses: [error("invalid_grant"), .response(200)]),
            // If the service does not revoke the refresh token, the access token is sent too.
            Refusal(
                responses: [error("unsupported_token_type"), .response(200)],
                signal: .oauthError("unsupported_token_type")),
            Refusal(
                responses: [error("unsupported_token_type"), error("unsupported_token_type")],
                signal: .oauthError("unsupported_token_type")),
            Refusal(
                responses: [error("invalid_client"), error("invalid_client")], signal: .oauthError("invalid_client")),
            Refusal(responses: [.json("{}", status: 400), .response(200)], signal: .refused(status: 400)),
            Refusal(responses: [.response(503)], signal: .unavailable(status: 503, retryAfter: nil), requests: 1),
            Refusal(responses: [.response(200), .response(503)], signal: .unavailable(status: 503, retryAfter: nil)),
            Refusal(responses: [error("server_error")], signal: .oauthError("server_error"), requests: 1),
        ]
    }

    @Test("Reports a refused revocation after sending both tokens", arguments: Refusal.all)
    func refusedRevocation(_ refusal: Refusal) async throws {
        let asked = Counter()
        try await LoopbackServer.run { _, _ in
            refusal.responses[min(asked.next(), refusal.responses.count) - 1]
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let signal = await asyncFailure {
                try await authority.revoke(account(at: server.address, refreshToken: "r"))
            }
            #expect(signal == refusal.signal)
            #expect(server.requests.count == refusal.requests)
        }
    }

    @Test("Requests the same document only once for a revocation")
    func noOtherDocument() async throws {
        try await LoopbackServer.run { request, address in
            request.target.contains("openid-configuration")
                ? .response(404) : .json(discoveryDocument(address, without: "revocation_endpoint"))
        } _: { server in
            let outcome = try await OAuthAuthority.test(server.address).revoke(account(at: server.address))
            #expect(outcome == .notSupported)
            #expect(server.targets.count == 2)
        }
    }

    // MARK: Secrets

    static let echoes: [LoopbackServer.Action] = [
        .json(#"{"error":"invalid_grant","error_description":"token \#(canary) is bad"}"#, status: 400),
        .json(#"{"error":"\#(canary)"}"#, status: 400), .json(#"{"error":"\#(canary)"}"#, status: 200),
        .json(#"{"sub":"\#(canary)"}"#), .json(#"{"token_type":"\#(canary)","access_token":"a"}"#),
        .json(#"{"token_type":"\#(canary)","access_token":"\#(canary)"}"#),
        .json(#"{"access_token":"\#(canary)\n"}"#), .json(canary), .json(canary, status: 500),
        .response(401, ["WWW-Authenticate": #"Bearer error="\#(canary)""#]),
        .response(401, ["WWW-Authenticate": #"\#(canary) error="invalid_token""#]),
        .response(403, ["WWW-Authenticate": #"Bearer error="\#(canary)""#]),
        .response(302, ["Location": "https://\(canary).evil.example/\(canary)"]),
        .response(503, ["Retry-After": canary], canary), .response(404, [:], canary), .response(407, ["X": canary]),
        .response(200, ["Content-Type": canary], canary), .response(200, ["Content-Encoding": canary], canary),
        .response(200, ["Content-Type": "text/html"], canary),
        .sendAndClose("HTTP/1.1 200 \(canary)\r\n\(canary)"), .sendAndClose(canary),
    ]

    @Test(arguments: echoes)
    func `Hides all secrets in errors, whatever the service echoes`(_ action: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { _, _ in
            action
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let kept = account(at: server.address, refreshToken: canary)
            var signals: [AuthorityError?] = []
            signals.append(await asyncFailure { try await authority.verify(kept) })
            var renewed: Credentials?
            signals.append(await asyncFailure { renewed = try await authority.refresh(kept) })
            signals.append(await asyncFailure { try await authority.revoke(kept) })
            signals.append(
                await asyncFailure {
                    do {
                        return try await authority.signIn(username: "jane", password: Secret(canary))
                    } catch let error as AccountError {
                        #expect(!String(reflecting: error).contains(canary))
                        throw error.cause ?? error
                    }
                })
            signals.append(
                await asyncFailure { try await authority.signIn(token: Secret(canary)) })
            #expect(signals[0] != nil)
            // An unknown type of token means Bearer.
            #expect(signals[1] != nil || renewed?.tokenType == "Bearer")
            #expect(signals[3] != nil)
            for signal in signals.compactMap(\.self) {
                var dumped = ""
                dump(signal, to: &dumped)
                #expect(!(dumped + "\(signal)" + String(reflecting: signal)).contains(canary))
            }
        }
    }
}
