import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

// MARK: Sign in

extension OAuthAuthorityTests {
    @Test("Sends the password to the token endpoint, then the token to user info")
    func password() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/token"
                ? .json(#"{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":3600}"#)
                : .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.test(
                server.address, scopes: ["openid", "profile"], endpoints: .all(at: server.address))
            var account = try await authority.signIn(username: "jane@example.com", password: Secret("p w&d"))
            #expect(account.credentials.clientSecret == .none)
            account.credentials.clientSecret = .unknown
            #expect(
                account
                    == Account(
                        id: "248289761001", issuer: server.address, username: "jane",
                        credentials: Credentials(
                            accessToken: Secret("a"), refreshToken: Secret("r"), clientID: "tool",
                            issuedAt: FixedClock().now, expiresAt: FixedClock().now.addingTimeInterval(3600)),
                        profile: ["preferred_username": "jane", "email": "jane@example.com"],
                        verifiedAt: FixedClock().now))
            #expect(
                server.requests.first?.body
                    == "grant_type=password&username=jane%40example.com&password=p+w%26d&scope=openid+profile&client_id=tool"
            )
            #expect(server.requests.last?.headers["authorization"] == "Bearer a")
        }
    }

    @Test("Uses the entered user name if user info does not identify the user")
    func givenUsername() async throws {
        try await LoopbackServer.run { request, _ in
            .json(request.target == "/token" ? #"{"access_token":"a"}"# : #"{"sub":"1"}"#)
        } _: { server in
            let account = try await OAuthAuthority.direct(server).signIn(username: "jane", password: Secret("p"))
            #expect(account.id == "1")
            #expect(account.username == "jane")
        }
    }

    private static func tokenResponse(_ server: String, subject: String? = "1") -> LoopbackServer.Action {
        let idToken = subject.map {
            jsonWebToken(#"{"iss":"\#(server)","aud":"tool","sub":"\#($0)","preferred_username":"claimed"}"#)
        }
        return .json(#"{"access_token":"a"\#(idToken.map { #","id_token":"\#($0.reveal())""# } ?? "")}"#)
    }

    @Test(
        "Identifies the user by ID token or entered name without user info",
        arguments: ["1", nil])
    func passwordWithoutUserInfo(_ subject: String?) async throws {
        try await LoopbackServer.run { _, address in
            Self.tokenResponse(address, subject: subject)
        } _: { server in
            let authority = try OAuthAuthority.test(
                server.address, endpoints: OAuthEndpoints(token: server.address + "/token"))
            let account = try await authority.signIn(username: "jane", password: Secret("p"))
            #expect(account.id == subject ?? "jane")
            #expect(account.username == (subject == nil ? "jane" : "claimed"))
        }
    }

    @Test func `Takes no claims from an ID token that repeat the access token`() async throws {
        try await LoopbackServer.run { _, address in
            let start = #"{"iss":"\#(address)","aud":"tool","sub":"1","preferred_username":"\#(canary)""#
            let idToken = jsonWebToken(start + #","a":"x \#(canary)","b":"y"}"#).reveal()
            return .json(#"{"access_token":"\#(canary)","id_token":"\#(idToken)"}"#)
        } _: { server in
            let authority = try OAuthAuthority.test(
                server.address, endpoints: OAuthEndpoints(token: server.address + "/token"))
            let account = try await authority.signIn(username: "jane", password: Secret("p"))
            #expect(account.id == "1" && account.username == "jane")
            #expect(account.profile.fields == ["b": "y"])
        }
    }

    @Test("Retries a failed user info request during a sign-in")
    func userInfoAgain() async throws {
        let asked = Counter()
        try await LoopbackServer.run { request, address in
            if request.target == "/token" { return Self.tokenResponse(address) }
            return asked.next() == 1 ? .response(503) : .json(#"{"sub":"1","preferred_username":"jane"}"#)
        } _: { server in
            let account = try await OAuthAuthority.direct(server).signIn(username: "j", password: Secret("p"))
            #expect(account.username == "jane")
            #expect(server.targets == ["/token", "/userinfo", "/userinfo"])
        }
    }

    struct Trouble: Sendable {
        var action: LoopbackServer.Action
        var requests: Int
        var signal: AuthorityError

        static let all: [Trouble] = [
            Trouble(action: .response(503), requests: 2, signal: .unavailable(status: 503, retryAfter: nil)),
            Trouble(action: .reset, requests: 2, signal: .noResponse(.reset)),
            Trouble(
                action: .response(503, ["Retry-After": "9"]), requests: 1,
                signal: .unavailable(status: 503, retryAfter: .seconds(9))),
            Trouble(action: .response(429), requests: 1, signal: .unavailable(status: 429, retryAfter: nil)),
            Trouble(action: .response(403), requests: 1, signal: .forbidden(error: nil)),
            Trouble(action: .json("{}"), requests: 1, signal: .unclear("…")),
        ]
    }

    @Test("Identifies the user by the ID token if the user info request fails", arguments: Trouble.all)
    func idTokenServes(_ trouble: Trouble) async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/token" ? Self.tokenResponse(address) : trouble.action
        } _: { server in
            let account = try await OAuthAuthority.direct(server).signIn(username: "j", password: Secret("p"))
            #expect(account.id == "1")
            #expect(account.username == "claimed")
            #expect(server.targets.count == 1 + trouble.requests)
        }
    }

    @Test("Reports why the user is unknown if no ID token was issued", arguments: Trouble.all)
    func nobodyKnows(_ trouble: Trouble) async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/token" ? Self.tokenResponse(address, subject: nil) : trouble.action
        } _: { server in
            let error = await identificationError { authority in
                try await authority.signIn(username: "j", password: Secret("p"))
            } at: {
                try OAuthAuthority.direct(server)
            }
            #expect(kind(error?.cause as? AuthorityError) == trouble.signal)
            // The issued tokens are revoked.
            #expect(server.targets.last == "/revoke")
            #expect(error?.description.contains("did not identify the user") == true)
        }
    }

    @Test(
        "Fails the sign-in if user info contradicts the tokens",
        arguments: [
            (LoopbackServer.Action.json(#"{"sub":"2"}"#), AuthorityError.otherUser(id: "2")),
            (
                .response(401, ["WWW-Authenticate": "Bearer error=invalid_token"]),
                .unauthorized(error: "invalid_token")
            ),
        ])
    func contradiction(_ action: LoopbackServer.Action, _ expected: AuthorityError) async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/token" ? Self.tokenResponse(address) : action
        } _: { server in
            let error = await identificationError { authority in
                try await authority.signIn(username: "j", password: Secret("p"))
            } at: {
                try OAuthAuthority.direct(server)
            }
            #expect(error?.cause as? AuthorityError == expected)
            #expect(server.targets.last == "/revoke")
            #expect(server.requests.last?.body.hasPrefix("token=a&token_type_hint=access_token") == true)
        }
    }

    /// The error of a sign-in that the service accepted without identifying the user.
    private func identificationError(
        _ signIn: (OAuthAuthority) async throws -> Account, at authority: () throws -> OAuthAuthority
    ) async -> AccountError? {
        do {
            _ = try await signIn(authority())
            return nil
        } catch {
            if !(error is AccountError) { Issue.record(error) }
            return error as? AccountError
        }
    }

    @Test("Requests the user from the service at a sign-in with a token")
    func token() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.user)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let token = jsonWebToken(#"{"exp":1800003600}"#)
            let account = try await authority.signIn(token: token)
            #expect(account.id == "248289761001")
            #expect(account.issuer == server.address)
            #expect(account.username == "jane")
            #expect(account.verifiedAt == FixedClock().now)
            #expect(account.credentials.accessToken == token)
            #expect(account.credentials.refreshToken == nil)
            #expect(account.credentials.clientID == nil)
        }
    }

    @Test("Refuses an invalid token at a sign-in without a request", arguments: ["", " ", "a b", "token\n", "tökén"])
    func noToken(_ text: String) async throws {
        try await LoopbackServer.run { server in
            let authority = try OAuthAuthority.direct(server)
            let thrown = await asyncFailure { try await authority.signIn(token: Secret(text)) }
            #expect(kind(thrown) == .signInRefused("…"))
            #expect(server.requests.isEmpty)
        }
    }
}
