import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// The methods by which a client with a secret authenticates.
struct ClientAuthenticationTests {
    private static let secret = "s p&c:r/t-\(canary)"

    /// `tool id` and the secret, form-encoded and joined by a colon (RFC 6749, section 2.3.1).
    private static let basic = header("tool+id:s+p%26c%3Ar%2Ft-\(canary)")

    /// The same without the encoding (RFC 7617).
    private static let plain = header("tool id:\(secret)")

    private static func header(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

    private func run(
        _ methods: String, clientID: String = "tool id", service: KnownService? = nil,
        response: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Action = { _ in .json("{}") },
        _ body: (OAuthAuthority, LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            request.target.contains("well-known")
                ? .json(
                    #"""
                    {"issuer":"\#(address)","token_endpoint":"\#(address)/token","revocation_endpoint":"\#(address)/revoke",
                     "device_authorization_endpoint":"\#(address)/device"\#(methods)}
                    """#) : response(request)
        } _: { server in
            try await body(
                OAuthAuthority(
                    issuer: server.address, clientID: clientID, clientSecret: Secret(Self.secret), scopes: [],
                    service: service, clock: FixedClock()), server)
        }
    }

    private func kept(_ server: LoopbackServer, clientID: String? = "tool id") -> Account {
        var kept = account(at: server.address, refreshToken: "r")
        kept.credentials.clientID = clientID
        return kept
    }

    private func ask(_ authority: OAuthAuthority, _ server: LoopbackServer) async -> [LoopbackServer.Request] {
        _ = await asyncFailure { try await authority.refresh(kept(server)) }
        _ = await asyncFailure { try await authority.beginDeviceSignIn() }
        _ = await asyncFailure { try await authority.revoke(kept(server)) }
        return server.requests.filter { $0.method == "POST" }
    }

    private static func methods(_ names: String) -> String { #","token_endpoint_auth_methods_supported":[\#(names)]"# }

    @Test(arguments: [
        "", methods(#""client_secret_basic""#), methods(#""client_secret_post","client_secret_basic""#),
        methods(#""none","client_secret_basic""#),
    ])
    func `Sends the client secret in a header by default, or if listed`(methods: String) async throws {
        try await run(methods) { authority, server in
            let requests = await ask(authority, server)
            #expect(requests.map(\.target) == ["/token", "/device", "/revoke", "/revoke"])
            for request in requests {
                #expect(request.headers["authorization"] == Self.basic)
                #expect(request.body.contains("client_id=tool+id"))
                #expect(!request.body.contains("client_secret"))
            }
        }
    }

    @Test(arguments: [nil, KnownService.google])
    func `Sends the client secret in the form if the service requires the form`(
        service: KnownService?
    ) async throws {
        let named = service == nil ? #""client_secret_post""# : #""client_secret_basic""#
        try await run(Self.methods(named), service: service) { authority, server in
            let requests = await ask(authority, server)
            #expect(requests.count == 4)
            for request in requests {
                #expect(request.headers["authorization"] == nil)
                #expect(request.body.contains("client_id=tool+id&client_secret=s+p%26c"))
            }
        }
    }

    /// Polls twice for the tokens of a sign-in.
    ///
    /// - Parameters:
    ///   - statuses: The status of the response to each method.
    ///   - names: The methods that the service lists.
    /// - Returns: The methods that were used.
    private func signIn(_ statuses: [String: Int], listing names: String) async throws -> [String] {
        var used: [String] = []
        try await run(Self.methods(names)) { request in
            let method = Self.method(of: request)
            return statuses[method] == 200
                ? .json(#"{"access_token":"a","token_type":"Bearer"}"#)
                : .json(#"{"error":"invalid_client"}"#, status: 401)
        } _: { authority, server in
            for _ in 1...2 {
                _ = await asyncFailure {
                    try await authority.pollDeviceSignIn(
                        DeviceAuthorization(
                            deviceCode: Secret("d"), userCode: "X", verificationURI: "https://example.com",
                            lifetime: .seconds(60)))
                }
            }
            used = server.requests.filter { $0.method == "POST" }.map { Self.method(of: $0) }
        }
        return used
    }

    private static func method(of request: LoopbackServer.Request) -> String {
        switch request.headers["authorization"] {
        case nil: "post"
        case plain: "plain"
        default: "basic"
        }
    }

    @Test func `Tries the other client secret method once and remembers the result`() async throws {
        let both = #""client_secret_basic","client_secret_post""#
        #expect(try await signIn(["basic": 401, "post": 200], listing: both) == ["basic", "post", "post"])
        #expect(try await signIn(["basic": 200, "post": 200], listing: both) == ["basic", "basic"])
        let all = ["basic", "post", "plain"]
        #expect(try await signIn([:], listing: both) == all + all)
        #expect(try await signIn(["plain": 200], listing: both) == all + ["plain"])
        let onlyBasic = #""client_secret_basic""#
        #expect(try await signIn(["post": 200], listing: onlyBasic) == ["basic", "plain", "basic", "plain"])
        #expect(try await signIn(["plain": 200], listing: onlyBasic) == ["basic", "plain", "plain"])
        #expect(try await signIn(["basic": 200, "plain": 200], listing: onlyBasic) == ["basic", "basic"])
        #expect(try await signIn(["plain": 200], listing: #""client_secret_post""#) == ["post", "post"])
    }

    @Test(
        arguments: [
            ("tool", "abc-._~*XYZ019", "tool:abc-._~*XYZ019", nil),
            ("tool", "a/b+c==", "tool:a%2Fb%2Bc%3D%3D", "tool:a/b+c=="),
            ("1PpG/Q 1", "z:X", "1PpG%2FQ+1:z%3AX", "1PpG/Q 1:z:X"), ("tool", "100%", "tool:100%25", "tool:100%"),
            ("tool", "pä$!", "tool:p%C3%A4%24%21", "tool:pä$!"),
            // A plain ID with a colon would end at the colon.
            ("urn:tool", "a/b", "urn%3Atool:a%2Fb", nil),
        ] as [(String, String, String, String?)])
    func `Sends the encoded form, and the plain form only if it differs`(
        clientID: String, secret: String, encoded: String, plain: String?
    ) async throws {
        try await LoopbackServer.run { request, address in
            .json(#"{"error":"invalid_client"}"#, status: 401)
        } _: { server in
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: clientID, clientSecret: Secret(secret), scopes: [],
                endpoints: .all(at: server.address), clock: FixedClock())
            _ = await asyncFailure { try await authority.signInAsClient() }
            let headers = server.requests.map { $0.headers["authorization"] }
            // Without a list of methods, the client also tries the form.
            #expect(headers == [Self.header(encoded), nil] + (plain.map { [Self.header($0)] } ?? []))
        }
    }

    @Test func `Keeps the plain form that the service accepted for the session`() async throws {
        try await run(Self.methods(#""client_secret_basic""#)) { request in
            request.headers["authorization"] == Self.plain
                ? .json(#"{"access_token":"a","refresh_token":"r"}"#)
                : .json(#"{"error":"invalid_client"}"#, status: 401)
        } _: { authority, server in
            let credentials = try await authority.pollDeviceSignIn(
                DeviceAuthorization(
                    deviceCode: Secret("d"), userCode: "X", verificationURI: "https://example.com",
                    lifetime: .seconds(60)))
            #expect(credentials.clientAuthentication == "client_secret_basic_plain")
            let bare = try OAuthAuthority(issuer: server.address, clientID: "tool id", scopes: [], clock: FixedClock())
            var account = kept(server)
            account.credentials = credentials
            #expect(try await bare.refresh(account).accessToken == Secret("a"))
            #expect(server.requests.filter { $0.method == "POST" }.count == 3)
        }
    }

    @Test func `Uses another client secret method for revocation if listed`() async throws {
        let methods =
            Self.methods(#""client_secret_post""#)
            + #","revocation_endpoint_auth_methods_supported":["client_secret_basic"]"#
        try await run(methods) { authority, server in
            let requests = await ask(authority, server)
            #expect(requests.map { $0.headers["authorization"] != nil } == [false, false, true, true])
        }
    }

    @Test func `Reports a service that accepts no client secret, and sends none`() async throws {
        try await run(Self.methods(#""none","private_key_jwt""#)) { authority, server in
            let signal = await asyncFailure { try await authority.refresh(kept(server)) }
            guard case .misconfigured(let text)? = signal else {
                Issue.record("\(String(describing: signal))")
                return
            }
            #expect(text.contains("does not accept a client secret"))
            #expect(server.requests.allSatisfy { $0.method == "GET" })
        }
    }

    @Test func `Sends the client secret only with its own client ID`() async throws {
        try await run("") { authority, server in
            _ = await asyncFailure { try await authority.refresh(kept(server, clientID: "other")) }
            _ = await asyncFailure { try await authority.revoke(kept(server, clientID: "other")) }
            let requests = server.requests.filter { $0.method == "POST" }
            #expect(requests.count == 3)
            for request in requests {
                #expect(request.headers["authorization"] == nil)
                #expect(request.body.hasSuffix("client_id=other"))
                #expect(!request.body.contains("client_secret"))
            }
        }
    }

    @Test func `Uses the client secret with which the account signed in`() async throws {
        try await run(
            "", response: { _ in .json(#"{"access_token":"a","refresh_token":"r"}"#) }
        ) { authority, server in
            let first = try await authority.refresh(kept(server))
            #expect(first.clientSecret == .secret(Secret(Self.secret)))
            // Another process without the secret in its environment, or a public client's account.
            let bare = try OAuthAuthority(issuer: server.address, clientID: "tool id", scopes: [], clock: FixedClock())
            for (secret, header) in [(ClientSecret.secret(Secret(Self.secret)), Self.basic as String?), (.none, nil)] {
                var account = kept(server)
                account.credentials.clientSecret = secret
                let new = try await bare.refresh(account)
                #expect(new.clientSecret == secret)
                #expect(server.requests.last?.headers["authorization"] == header)
                let outcome = try await bare.revoke(account)
                #expect(outcome == .done)
                #expect(server.requests.last?.headers["authorization"] == header)
            }
            // An app that knows its service may receive a new secret.
            var account = kept(server)
            account.credentials.clientSecret = .secret(Secret("the previous secret"))
            let last = try await authority.refresh(account)
            #expect(last.clientSecret == .secret(Secret(Self.secret)))
            #expect(server.requests.last?.headers["authorization"] == Self.basic)
        }
    }

    @Test func `Stores the client secret or its absence at the sign-in`() async throws {
        for secret in [nil, Secret(Self.secret)] {
            try await LoopbackServer.run { request, _ in
                .json(request.target == "/token" ? #"{"access_token":"a"}"# : #"{"sub":"1"}"#)
            } _: { server in
                let authority = try OAuthAuthority(
                    issuer: server.address, clientID: "tool", clientSecret: secret, scopes: [],
                    endpoints: .all(at: server.address), clock: FixedClock())
                let kept = secret.map { ClientSecret.secret($0) } ?? .none
                let account = try await authority.signIn(username: "jane", password: Secret("p"))
                #expect(account.credentials.clientSecret == kept)
                // An imported token was not issued to a client of this program.
                let other = try await authority.signIn(token: Secret("t"))
                #expect(other.credentials.clientSecret == .none)
            }
        }
    }

    @Test func `Hides the client secret in any encoding from errors`() async throws {
        for methods in ["", Self.methods(#""client_secret_post""#)] {
            try await run(
                methods,
                response: { request in
                    let sent = request.headers["authorization"].map { String($0.dropFirst(6)) } ?? Self.secret
                    return .json(#"{"error":"invalid_client","error_description":"\#(sent)"}"#, status: 401)
                }
            ) { authority, server in
                let signal = await asyncFailure { try await authority.refresh(kept(server)) }
                #expect(signal == .oauthError("invalid_client"))
            }
        }
    }
}
