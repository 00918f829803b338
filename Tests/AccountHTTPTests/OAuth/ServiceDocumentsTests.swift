import AccountSupport
import AccountKit
import Synchronization
import Testing

@testable import AccountHTTP

/// Two documents may describe a service. The second one is read only if the first one omits an endpoint.
struct ServiceDocumentsTests {
    private static let first = "/.well-known/openid-configuration"
    private static let second = "/.well-known/oauth-authorization-server"

    /// Calls `body` with a server whose documents have these members in addition to the issuer.
    private func withServer(
        _ firstMembers: String, _ secondMembers: String,
        _ body: (OAuthAuthority, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            let members = request.target == Self.first ? firstMembers : secondMembers
            switch request.target {
            case Self.first, Self.second:
                return .json(#"{"issuer":"\#(address)"\#(members.replacing("AT", with: address))}"#)
            case "/device":
                return .json(
                    #"{"device_code":"d","user_code":"A","verification_uri":"https://example.com","expires_in":60}"#)
            case "/userinfo": return .json(#"{"sub":"248289761001"}"#)
            default: return .json(#"{"access_token":"a"}"#)
            }
        } _: { server in
            try await body(OAuthAuthority.test(server.address), server)
        }
    }

    private static let token = #","token_endpoint":"AT/token""#

    @Test func `Finds a device endpoint that only the second document lists`() async throws {
        try await withServer(Self.token, Self.token + #","device_authorization_endpoint":"AT/device""#) {
            authority, server in
            _ = try await authority.beginDeviceSignIn()
            _ = try await authority.beginDeviceSignIn()
            #expect(server.targets == [Self.first, Self.second, "/device", "/device"])
        }
    }

    @Test func `Finds each endpoint in the second document, even the token endpoint`() async throws {
        try await withServer("", Self.token + #","userinfo_endpoint":"AT/userinfo","authorization_endpoint":"AT/a""#) {
            authority, server in
            _ = try await authority.verify(account(at: server.address))
            _ = try await authority.refresh(account(at: server.address, refreshToken: "r"))
            #expect(try await authority.beginBrowserSignIn().url.hasPrefix(server.address + "/a?"))
            #expect(server.targets == [Self.first, Self.second, "/userinfo", "/token"])
        }
    }

    @Test func `Requests no second document if the first lists the endpoints`() async throws {
        try await withServer(
            Self.token + #","userinfo_endpoint":"AT/userinfo""#, #","userinfo_endpoint":"AT/other""#
        ) { authority, server in
            _ = try await authority.verify(account(at: server.address))
            _ = try await authority.refresh(account(at: server.address, refreshToken: "r"))
            #expect(server.targets == [Self.first, "/userinfo", "/token"])
        }
    }

    @Test func `Reports an endpoint that is in neither document`() async throws {
        try await withServer(Self.token, "") { authority, _ in
            #expect(kind(await asyncFailure { try await authority.beginDeviceSignIn() }) == .misconfigured("…"))
            #expect(kind(await asyncFailure { try await authority.beginBrowserSignIn() }) == .misconfigured("…"))
            #expect(
                kind(await asyncFailure { try await authority.verify(account(at: authority.issuer)) })
                    == .misconfigured("…"))
        }
        try await withServer("", "") { authority, server in
            let refresh = await asyncFailure {
                try await authority.refresh(account(at: server.address, refreshToken: "r"))
            }
            #expect(kind(refresh) == .misconfigured("…"))
        }
    }

    @Test(arguments: [.response(503), .reset, .response(429)] as [LoopbackServer.Action])
    func `Ignores a failing second document unless its endpoint is needed`(
        action: LoopbackServer.Action
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case Self.first: .json(discoveryDocument(address))
            case Self.second: action
            default: .json(#"{"sub":"248289761001"}"#)
            }
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            _ = try await authority.verify(account(at: server.address))
            let signal = try #require(await asyncFailure { try await authority.beginDeviceSignIn() })
            #expect(kind(signal) != .misconfigured("…"))
        }
    }

    @Test func `Reads each document until one has a usable endpoint`() async throws {
        let asked = Mutex<[String]>([])
        let documents = ServiceDocuments(
            Discovery(issuer: try Issuer("https://id.example/a"), isFromAPI: true)
        ) { request throws(AuthorityError) in
            let path = request.url.path
            asked.withLock { $0.append(path) }
            let member =
                switch path {
                case "/.well-known/oauth-authorization-server/a": #""revocation_endpoint":"/revoke""#
                case "/.well-known/openid-configuration/a": #""token_endpoint":"https://id.example/token""#
                default: #""revocation_endpoint":"https://id.example/revoke""#
                }
            return .json(200, #"{"issuer":"https://ID.example:443/a",\#(member)}"#)
        }
        #expect(try await documents.endpoint(.token)?.url.description == "https://id.example/token")
        #expect(asked.withLock(\.count) == 2)
        #expect(try await documents.endpoint(.revocation)?.url.description == "https://id.example/revoke")
        #expect(try await documents.endpoint(.userInfo) == nil)
        #expect(documents.flaw(of: .userInfo) == nil)
        #expect(asked.withLock(\.count) == 3)
    }

    @Test func `Asks an address that failed again when it is needed`() async throws {
        let isBroken = Mutex(true)
        try await LoopbackServer.run { request, address in
            switch request.target {
            case Self.first: isBroken.withLock(\.self) ? .response(503) : .json(discoveryDocument(address))
            case Self.second: .json(#"{"issuer":"\#(address)","token_endpoint":"\#(address)/token"}"#)
            case "/userinfo": .json(#"{"sub":"248289761001"}"#)
            default: .json(#"{"access_token":"a","token_type":"Bearer"}"#)
            }
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let account = account(at: server.address, refreshToken: "r")
            _ = try await authority.refresh(account)
            #expect(server.targets == [Self.first, Self.second, "/token"])
            // It is unknown whether the service has a user info endpoint.
            let failure = await asyncFailure { try await authority.verify(account) }
            #expect(failure == .unavailable(status: 503, retryAfter: nil))
            isBroken.withLock { $0 = false }
            _ = try await authority.verify(account)
        }
    }

    // MARK: Scopes

    @Test(
        arguments: [
            (nil, #","scopes_supported":["openid","offline_access"]"#, "openid profile email offline_access"),
            (nil, #","scopes_supported":["openid"]"#, "openid profile email"), (nil, "", "openid profile email"),
            (nil, #","scopes_supported":"openid offline_access""#, "openid profile email offline_access"),
            (nil, #","scopes_supported":7"#, "openid profile email"),
            (["openid"], #","scopes_supported":["openid","offline_access"]"#, "openid"),
        ] as [([String]?, String, String)])
    func `Requests offline_access if listed, unless scopes are given`(
        scopes: [String]?, members: String, expected: String
    ) async throws {
        let endpoints = #","authorization_endpoint":"AT/a","device_authorization_endpoint":"AT/device""#
        try await withServer(Self.token + endpoints + members, "") { other, server in
            let authority = try OAuthAuthority(
                issuer: try #require(other.issuer), clientID: "tool", scopes: scopes)
            let encoded = expected.replacing(" ", with: "+")
            #expect(try await authority.beginBrowserSignIn().url.contains("&scope=\(encoded)&"))
            _ = try await authority.beginDeviceSignIn()
            #expect(server.requests.last?.body.hasPrefix("scope=\(encoded)&") == true)
        }
    }
}
