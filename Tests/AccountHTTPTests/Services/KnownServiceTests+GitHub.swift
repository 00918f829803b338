import AccountKit
import AccountSupport
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// GitHub.
extension KnownServiceTests {
    @Test("Uses GitHub's API host, and the same host for Enterprise Server")
    func gitHubEndpoints() async throws {
        let own = try await OAuthAuthority(issuer: "https://github.com", clientID: "tool").endpoints()
        #expect(own[.token] == "https://github.com/login/oauth/access_token")
        #expect(own[.deviceAuthorization] == "https://github.com/login/device/code")
        #expect(own[.userInfo] == "https://api.github.com/user")
        #expect(own[.revocation] == nil)
        #expect(own[.authorization] == nil)
        let elsewhere = try await authority(.github, "https://git.example").endpoints()
        #expect(elsewhere[.token] == "https://git.example/login/oauth/access_token")
        #expect(elsewhere[.userInfo] == "https://git.example/api/v3/user")
    }

    @Test("Reads GitHub's user number, login and profile fields")
    func gitHubUser() async throws {
        try await LoopbackServer.run { _, _ in
            .json(
                """
                {"login":"octo","id":583231,"node_id":"MDQ","avatar_url":"https://git.example/a.png","name":"Octo Cat",\
                "html_url":"https://git.example/octo","email":null,"followers_url":"https://git.example/f","company":"C"}
                """)
        } _: { server in
            let account = try await authority(.github, server.address, clientID: nil).signIn(token: Secret(canary))
            #expect(account.id == "583231")
            #expect(account.username == "octo")
            #expect(account.profile.name == "Octo Cat")
            #expect(account.profile.picture == "https://git.example/a.png")
            #expect(Set(account.profile.fields.keys) == ["name", "picture", "profile", "company"])
            #expect(account.issuer == server.address)
            #expect(server.targets == ["/api/v3/user"])
        }
    }

    @Test("Reads GitHub's errors with status 200 and non-standard codes")
    func gitHubErrors() async throws {
        let expected: [(String, String)] = [
            ("authorization_pending", "authorization_pending"), ("slow_down", "slow_down"),
            ("expired_token", "expired_token"),
            ("access_denied", "access_denied"), ("incorrect_device_code", "invalid_grant"),
            ("incorrect_client_credentials", "invalid_client"), ("device_flow_disabled", "unauthorized_client"),
            ("bad_verification_code", "invalid_grant"),
        ]
        for (sent, code) in expected {
            try await LoopbackServer.run { _, _ in
                .json(#"{"error":"\#(sent)","error_description":"d","error_uri":"https://docs.example"}"#)
            } _: { server in
                let authority = try authority(.github, server.address)
                #expect(
                    kind(await asyncFailure { try await authority.pollDeviceSignIn(Self.device) }) == .oauthError(code))
                #expect(kind(await asyncFailure { try await authority.beginDeviceSignIn() }) == .oauthError(code))
            }
        }
    }

    @Test("Treats GitHub's bad_refresh_token like invalid_grant")
    func gitHubRefresh() async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"error":"bad_refresh_token","error_description":"d"}"#)
        } _: { server in
            let authority = try authority(.github, server.address)
            let thrown = await asyncFailure {
                try await authority.refresh(account(at: server.address, refreshToken: "ghr"))
            }
            let decision = SessionDecision.afterRefresh(try #require(thrown))
            #expect(decision == .clear("invalid_grant"))
        }
        // From another service, the same code is not a definite rejection.
        try await LoopbackServer.run { _, _ in
            .json(#"{"error":"bad_refresh_token"}"#, status: 400)
        } _: { server in
            let authority = try OAuthAuthority.direct(server)
            let thrown = await asyncFailure {
                try await authority.refresh(account(at: server.address, refreshToken: "ghr"))
            }
            let decision = SessionDecision.afterRefresh(try #require(thrown))
            guard case .keep = decision else {
                Issue.record("\(decision)")
                return
            }
        }
    }

    @Test("Treats GitHub's documented 401 as an invalid token")
    func gitHubRefusal() async throws {
        let dead = LoopbackServer.Action.response(
            401, ["Content-Type": "application/json; charset=utf-8"],
            #"{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest","status":"401"}"#)
        try await LoopbackServer.run { _, _ in
            dead
        } _: { server in
            let gitHub = try authority(.github, server.address)
            let thrown = await asyncFailure { try await gitHub.verify(account(at: server.address, id: "1")) }
            #expect(thrown == .unauthorized(error: "invalid_token"))
            #expect(
                SessionDecision.afterVerification(try #require(thrown), .init(holdsRefreshToken: false))
                    == .clear("invalid_token"))
            // From another service, the same response is not a definite rejection.
            let other = try OAuthAuthority.direct(server)
            #expect(
                await asyncFailure { try await other.verify(account(at: server.address, id: "1")) }
                    == .unauthorized(error: nil))
        }
    }

    @Test(
        "Ignores responses that only resemble GitHub's invalid token",
        arguments: [
            .json(#"{"message":"Requires authentication"}"#, status: 401),
            .json(#"{"message":"Bad credentials"}"#, status: 403),
            .json(#"{"message":"bad credentials"}"#, status: 401), .json(#"["Bad credentials"]"#, status: 401),
            .json(#"{"message":"Bad credentials","message":"x"}"#, status: 401),
            .json(#"{"message":{"x":"Bad credentials"}}"#, status: 401),
            .response(401, ["Content-Type": "text/html"], #"{"message":"Bad credentials"}"#),
            .response(401, [:], "Bad credentials"),
            .response(302, ["Content-Type": "application/json"], #"{"message":"Bad credentials"}"#),
            .json(#"{"message":"Bad credentials"}"#, status: 500), .json(#"{"message":"Bad credentials"}"#),
        ] as [LoopbackServer.Action])
    func gitHubNoRefusal(_ action: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { _, _ in
            action
        } _: { server in
            let gitHub = try authority(.github, server.address)
            let thrown = await asyncFailure { try await gitHub.verify(account(at: server.address, id: "1")) }
            let decision = SessionDecision.afterVerification(try #require(thrown), .init(holdsRefreshToken: false))
            guard case .keep = decision else {
                Issue.record("\(decision)")
                return
            }
        }
    }

    @Test("Reads GitHub's comma-separated scopes and tokens without an expiry")
    func gitHubToken() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/api/v3/user"
                ? .json(#"{"login":"octo","id":1}"#)
                : .json(#"{"access_token":"gho_x","scope":"read:user,user:email","token_type":"bearer"}"#)
        } _: { server in
            let credentials = try await authority(.github, server.address).pollDeviceSignIn(Self.device)
            #expect(credentials.scopes == ["read:user", "user:email"])
            #expect(credentials.expiresAt == nil)
            #expect(credentials.refreshToken == nil)
        }
    }

    @Test("Does not treat GitHub's error about a code as a rejected refresh token")
    func otherCodesAtRefresh() async throws {
        for code in ["bad_verification_code", "incorrect_device_code"] {
            try await LoopbackServer.run { _, _ in
                .json(#"{"error":"\#(code)"}"#)
            } _: { server in
                let authority = try authority(.github, server.address)
                let thrown = await asyncFailure {
                    try await authority.refresh(account(at: server.address, refreshToken: "ghr"))
                }
                let decision = SessionDecision.afterRefresh(try #require(thrown))
                var reason = UnverifiedReason(.unclearReply, detail: code)
                reason.refusesRenewal = true
                #expect(decision == .keep(reason))
            }
        }
    }
}
