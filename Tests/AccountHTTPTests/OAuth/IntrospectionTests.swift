import AccountKit
import Testing

@testable import AccountHTTP

/// Sign-in at a service that supports only OAuth 2.0.
struct IntrospectionTests {
    private func signIn(
        introspection: LoopbackServer.Action?, username: String? = nil,
        _ body: (OAuthAuthority, Account) async throws -> Void = { _, _ in }
    ) async throws -> Account {
        var result: Account?
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/token": .json(#"{"access_token":"access-\#(canary)","token_type":"Bearer"}"#)
            case "/introspect": introspection ?? .response(404)
            default:
                .json(
                    """
                    {"issuer":"\(address)","token_endpoint":"\(address)/token"\
                    \(introspection == nil ? "" : ",\"introspection_endpoint\":\"\(address)/introspect\"")}
                    """)
            }
        } _: { server in
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", options: OAuthRequestOptions(username: username),
                clock: FixedClock())
            let credentials = try await authority.pollDeviceSignIn(
                DeviceAuthorization(
                    deviceCode: Secret("d"), userCode: "X", verificationURI: "https://example.com",
                    lifetime: .seconds(60)))
            let account = try await authority.account(with: credentials)
            result = account
            try await body(authority, account)
        }
        return try #require(result)
    }

    @Test func `Identifies the user by the introspection endpoint`() async throws {
        let account = try await signIn(
            introspection: .json(#"{"active":true,"sub":"7","username":"jane"}"#)
        ) { authority, account in
            let identity = try await authority.verify(account)
            #expect(identity.id == "7")
            // The user name of a sign-in becomes the id if the service does not identify the user.
            let unidentified = Account(id: "jane", issuer: account.issuer, credentials: account.credentials)
            let named = try await authority.verify(unidentified)
            #expect(named.id == "jane")
            let other = Account(id: "8", issuer: account.issuer, credentials: account.credentials)
            let failure = await asyncFailure { try await authority.verify(other) }
            #expect(failure == .otherUser(id: "7"))
        }
        #expect(account.id == "7" && account.username == "jane")
    }

    @Test(arguments: [
        #"{"active":"true","sub":7,"username":8}"#, #"{"active":1,"sub":"7","username":"8"}"#,
        #"{"active":"TRUE","sub":7,"username":"8"}"#,
    ])
    func `Reads an introspection with values of other types`(body: String) async throws {
        let account = try await signIn(introspection: .json(body))
        #expect(account.id == "7" && account.username == "8")
    }

    @Test(
        arguments: [
            .json(#"{"active":"false","sub":"7"}"#), .json(#"{"active":"yes","sub":"7"}"#),
            .json(#"{"active":false}"#), .json(#"{"active":true}"#), .json(#"{"error":"invalid_client"}"#, status: 401),
            .json(#"{"active":true,"sub":"access-\#(canary)"}"#), nil,
        ] as [LoopbackServer.Action?])
    func `Uses the entered user name if introspection identifies no user`(action: LoopbackServer.Action?) async throws {
        let named = try await signIn(introspection: action, username: "jane")
        #expect(named.id == "jane" && named.username == "jane")
        let unnamed = try await signIn(introspection: action)
        #expect(unnamed.id.hasPrefix("local:") && unnamed.username == nil)
        let again = try await signIn(introspection: action)
        #expect(again.id != unnamed.id)
    }

    @Test func `Takes no user name from an introspection that repeats the token`() async throws {
        let account = try await signIn(
            introspection: .json(#"{"active":true,"sub":"7","username":"access-\#(canary)"}"#))
        #expect(account.id == "7" && account.username == nil)
    }

    @Test func `Does not treat an inactive token in an introspection as rejected`() async throws {
        _ = try await signIn(introspection: .json(#"{"active":false}"#), username: "jane") { authority, account in
            let failure = await asyncFailure { try await authority.verify(account) }
            #expect(kind(failure) == .misconfigured("…"))
        }
    }
    @Test(
        arguments: [
            .json(#"{"active":false}"#), .json(#"{"error":"invalid_token"}"#, status: 401),
            .json(#"{"error":"invalid_client"}"#, status: 401), .response(403),
            .response(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#]),
        ] as [LoopbackServer.Action])
    func `Keeps the session after a refused introspection`(action: LoopbackServer.Action) async throws {
        _ = try await signIn(introspection: action, username: "jane") { authority, account in
            for isForAPIOnly in [false, true] {
                var account = account
                account.credentials.isForAPIOnly = isForAPIOnly
                let failure = try #require(await asyncFailure { try await authority.verify(account) })
                #expect(kind(failure) == .misconfigured("…"))
                let decision = SessionDecision.afterVerification(failure, .init(holdsRefreshToken: false))
                #expect(decision == .keep(SessionDecision.reason(for: failure)))
            }
        }
    }

    @Test func `Ends the session if user info rejects the token`() async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/userinfo": .response(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            case "/introspect": .json(#"{"active":false}"#)
            default:
                .json(
                    """
                    {"issuer":"\(address)","token_endpoint":"\(address)/token","userinfo_endpoint":"\(address)/userinfo",\
                    "introspection_endpoint":"\(address)/introspect"}
                    """)
            }
        } _: { server in
            let authority = try OAuthAuthority(issuer: server.address, clientID: "tool", clock: FixedClock())
            let account = account(at: server.address)
            let failure = try #require(await asyncFailure { try await authority.verify(account) })
            let decision = SessionDecision.afterVerification(failure, .init(holdsRefreshToken: false))
            #expect(decision == .clear("invalid_token"))
        }
    }
}
