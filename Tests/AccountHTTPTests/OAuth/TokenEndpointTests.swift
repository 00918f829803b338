import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// The token endpoint that is stored with an account, so that the refresh of another process needs no discovery. A
/// second authority stands for another process.
struct TokenEndpointTests {
    private static let configuration = "/.well-known/openid-configuration"

    private let clock = ManualClock(FixedClock().now)

    private func authority(
        _ server: LoopbackServer, clientSecret: String? = nil, timeout: Duration = .seconds(20)
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: server.address, clientID: "tool", clientSecret: clientSecret.map { Secret($0) }, scopes: ["openid"],
            timeout: timeout, clock: clock)
    }

    /// Runs a test with a server that issues new tokens at `/token`, and responds with 404 at other paths.
    private func withServer(
        _ cacheControl: String = "max-age=600", _ members: String = "",
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case Self.configuration:
                .response(
                    200, ["Content-Type": "application/json", "Cache-Control": cacheControl],
                    discoveryDocument(address).dropLast() + members + "}")
            case "/token": .json(#"{"access_token":"new","refresh_token":"next","expires_in":60}"#)
            case "/userinfo" where request.headers["authorization"] != "Bearer revoked":
                .json(#"{"sub":"248289761001"}"#)
            case "/bob": .json(#"{"sub":"bob"}"#)
            case "/userinfo", "/refusing": .response(401, ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            default: .response(404)
            }
        } _: { server in
            try await body(server)
        }
    }

    private func signedIn(_ server: LoopbackServer, clientSecret: String? = nil) async throws -> Account {
        let authority = try authority(server, clientSecret: clientSecret)
        return try await authority.signIn(username: "alice", password: Secret("password"))
    }

    /// An account with a stored endpoint that is fresh.
    private func account(_ server: LoopbackServer, _ url: String, expiringIn seconds: TimeInterval = 600) -> Account {
        var account = AccountHTTPTests.account(at: server.address, refreshToken: "r")
        account.credentials.tokenEndpoint = TokenEndpoint(
            url: url, expiresAt: clock.now.addingTimeInterval(seconds))
        return account
    }

    // MARK: Lifetime

    @Test func `Refreshes at the endpoint of the sign-in without discovery`() async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            #expect(server.targets == [Self.configuration, "/token", "/userinfo"])
            for _ in 1...2 {
                let response = try await authority(server).refresh(account)
                account.credentials = account.credentials.renewed(by: response)
            }
            #expect(server.targets.dropFirst(3) == ["/token", "/token"])
            let expiresAt = clock.now.addingTimeInterval(600)
            #expect(
                account.credentials.tokenEndpoint
                    == TokenEndpoint(
                        url: server.address + "/token", userInfo: server.address + "/userinfo", expiresAt: expiresAt))
        }
    }

    @Test func `Checks the session without discovery until the metadata expires`() async throws {
        try await withServer { server in
            let account = try await signedIn(server)
            #expect(try await authority(server).verify(account).id == account.id)
            #expect(server.targets.dropFirst(3) == ["/userinfo"])
            clock.advance(by: .seconds(600))
            #expect(try await authority(server).verify(account).id == account.id)
            #expect(server.targets.dropFirst(4) == [Self.configuration, "/userinfo"])
        }
    }

    /// The server responds with 404 at other paths, with 401 at `/refusing`, and with another user at `/bob`.
    @Test(arguments: ["/old", "/refusing", "/bob"])
    func `Reads the metadata before a former user info endpoint ends the session`(path: String) async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            account.credentials.tokenEndpoint?.userInfo = server.address + path
            #expect(try await authority(server).verify(account).id == account.id)
            #expect(server.targets.dropFirst(3) == [path, Self.configuration, "/userinfo"])
        }
    }

    @Test func `Reads the metadata if the host of user info is gone`() async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            account.credentials.tokenEndpoint?.userInfo = "http://localhost:1/userinfo"
            #expect(try await authority(server).verify(account).id == account.id)
            #expect(server.targets.dropFirst(3) == [Self.configuration, "/userinfo"])
        }
    }

    @Test func `Sends a refused token once to the current user info endpoint`() async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            account.credentials.accessToken = Secret("revoked")
            let failure = await asyncFailure { try await authority(server).verify(account) }
            #expect(failure == .unauthorized(error: "invalid_token"))
            #expect(server.targets.dropFirst(3) == ["/userinfo", Self.configuration])
        }
    }

    @Test(arguments: ["http://auth.example.com/userinfo", "ftp://127.0.0.1/userinfo", "userinfo", ""])
    func `Ignores a stored user info endpoint that no document may name`(url: String) async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            account.credentials.tokenEndpoint?.userInfo = url
            #expect(try await authority(server).verify(account).id == account.id)
            #expect(server.targets.dropFirst(3) == [Self.configuration, "/userinfo"])
        }
    }

    @Test func `Discovers the endpoint again after its lifetime`() async throws {
        try await withServer { server in
            var account = try await signedIn(server)
            clock.advance(by: .seconds(600))
            let response = try await authority(server).refresh(account)
            account.credentials = account.credentials.renewed(by: response)
            #expect(server.targets.dropFirst(3) == [Self.configuration, "/token"])
            #expect(account.credentials.tokenEndpoint?.expiresAt == clock.now.addingTimeInterval(600))
        }
    }

    @Test(arguments: ["no-store", "no-cache", "max-age=0"])
    func `Stores no endpoint if the service does not allow it`(cacheControl: String) async throws {
        try await withServer(cacheControl) { server in
            var account = try await signedIn(server)
            #expect(account.credentials.tokenEndpoint == nil)
            // A refresh replaces an endpoint that was stored before.
            account.credentials.tokenEndpoint =
                self.account(server, server.address, expiringIn: 0).credentials.tokenEndpoint
            let response = try await authority(server).refresh(account)
            #expect(account.credentials.renewed(by: response).tokenEndpoint == nil)
            #expect(server.targets.dropFirst(3) == [Self.configuration, "/token"])
        }
    }

    @Test func `Authenticates the client at the stored endpoint as at the sign-in`() async throws {
        let members = #","token_endpoint_auth_methods_supported":["private_key_jwt","client_secret_post"]"#
        try await withServer("max-age=600", members) { server in
            let account = try await signedIn(server, clientSecret: "secret")
            #expect(account.credentials.tokenEndpoint?.authenticationMethods == ["client_secret_post"])
            _ = try await authority(server, clientSecret: "secret").refresh(account)
            let request = try #require(server.requests.last)
            #expect(request.headers["authorization"] == nil)
            #expect(request.body.hasSuffix("client_id=tool&client_secret=secret"))
            #expect(!server.targets.dropFirst(3).contains(Self.configuration))
        }
    }

    // MARK: Other endpoints

    @Test(
        arguments: [
            "http://auth.example.com/token", "ftp://127.0.0.1/token", "token", "https://user@127.0.0.1/token", "",
        ])
    func `Ignores a stored endpoint that a discovery document must not name`(url: String) async throws {
        try await withServer { server in
            _ = try await authority(server).refresh(account(server, url))
            #expect(server.targets == [Self.configuration, "/token"])
        }
    }

    @Test(arguments: [0, -1, 86_401] as [TimeInterval])
    func `Ignores a stored endpoint with an impossible expiry`(seconds: TimeInterval) async throws {
        try await withServer { server in
            _ = try await authority(server).refresh(account(server, server.address + "/old", expiringIn: seconds))
            #expect(server.targets == [Self.configuration, "/token"])
        }
    }

    @Test func `Prefers the endpoints of the app, and does not store them`() async throws {
        try await withServer { server in
            let direct = try OAuthAuthority.direct(server)
            let credentials = try await direct.refresh(account(server, server.address + "/old"))
            #expect(credentials.tokenEndpoint == nil)
            #expect(server.targets == ["/token"])
        }
    }

    // MARK: An endpoint that has moved

    @Test func `Discovers an endpoint again if its host refuses connections`() async throws {
        try await withServer { server in
            let account = account(server, "http://127.0.0.1:1/token")
            let credentials = try await authority(server).refresh(account)
            #expect(credentials.tokenEndpoint?.url == server.address + "/token")
            #expect(server.targets == [Self.configuration, "/token"])
        }
    }

    @Test func `Discovers an endpoint again if its host does not respond`() async throws {
        try await withServer { server in
            // The server accepts connections, but the TLS handshake does not progress.
            try await LoopbackServer.run { other in
                let account = account(server, "https://127.0.0.1:\(other.port)/token")
                _ = try await authority(server, timeout: .seconds(4)).refresh(account)
                #expect(server.targets == [Self.configuration, "/token"])
            }
        }
    }

    @Test func `Sends a refresh token once, and discovers at the next refresh`() async throws {
        try await withServer { server in
            let store = try await AccountStore.inMemory(
                signedIn: account(server, server.address + "/old"), clock: clock)
            await #expect(throws: AccountError.self) { try await store.refresh(with: authority(server)) }
            // A refusal counts only at the endpoint that the service names now.
            #expect(server.targets == ["/old", Self.configuration])
            #expect(store.account?.credentials.refreshToken == Secret("r"))
            let renewed = try await store.refresh(with: authority(server))
            #expect(server.targets == ["/old", Self.configuration, Self.configuration, "/token"])
            #expect(renewed.credentials.tokenEndpoint?.url == server.address + "/token")
        }
    }

    /// The old host still responds, but knows no tokens any more.
    @Test(arguments: ["/old", "/token"])
    func `Only the endpoint that the service names can reject a refresh token`(path: String) async throws {
        try await LoopbackServer.run { request, address in
            request.target == Self.configuration
                ? .json(discoveryDocument(address)) : .json(#"{"error":"invalid_grant"}"#, status: 400)
        } _: { server in
            let error = await #expect(throws: AuthorityError.self) {
                try await authority(server).refresh(account(server, server.address + path))
            }
            #expect(server.targets == [path, Self.configuration])
            switch error {
            case .unclear: #expect(path == "/old")
            case .oauthError("invalid_grant", _): #expect(path == "/token")
            default: Issue.record("\(String(describing: error))")
            }
        }
    }
}
