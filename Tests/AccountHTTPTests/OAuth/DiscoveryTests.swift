import AccountKit
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Discovery documents")
struct DiscoveryTests {
    @Test(
        "Builds the well-known URLs of OpenID Connect and RFC 8414",
        arguments: [
            (
                "https://id.example",
                [
                    "https://id.example/.well-known/openid-configuration",
                    "https://id.example/.well-known/oauth-authorization-server",
                ]
            ),
            (
                "https://id.example:8443/realms/a/",
                [
                    "https://id.example:8443/realms/a/.well-known/openid-configuration",
                    "https://id.example:8443/.well-known/oauth-authorization-server/realms/a",
                ]
            ),
        ])
    func addresses(_ issuer: String, _ expected: [String]) throws {
        #expect(try Discovery(issuer: Issuer(issuer)).urls.map(\.description) == expected)
    }

    @Test("Accepts discovered endpoints on other hosts and with a query")
    func endpoints() throws {
        let response = ServiceResponse.json(
            200,
            #"""
            {"issuer":"https://id.example/","token_endpoint":"https://oauth2.other.example/token?v=1",
             "userinfo_endpoint":"https://id.example/me","revocation_endpoint":null,
             "device_authorization_endpoint":"https://id.example/device","authorization_endpoint":"https://id.example/auth",
             "jwks_uri":7}
            """#)
        let endpoints = try Discovery(issuer: Issuer("https://id.example")).endpoints(in: response)
        #expect(
            try endpoints
                == OAuthEndpoints(
                    token: "https://oauth2.other.example/token?v=1", userInfo: "https://id.example/me",
                    deviceAuthorization: "https://id.example/device", authorization: "https://id.example/auth"))
    }

    static let lies: [(String, AuthorityError)] = [
        // The issuer of the document.
        (#"{"issuer":"https://evil.example","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example//","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example/a","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"HTTPS://id.example","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":["https://id.example"],"token_endpoint":"https://id.example/t"}"#, .unclear("…")),
        // The token endpoint.
        (#"{"issuer":"https://id.example"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":null}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":7}"#, .unclear("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"/token"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"http://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"http://127.0.0.1/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"javascript:alert(1)"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"https://id.example/t#x"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"https://a@id.example/t"}"#, .misconfigured("…")),
        (
            #"{"issuer":"https://id.example","token_endpoint":"https://id.example/t","userinfo_endpoint":"http://x.example"}"#,
            .misconfigured("…")
        ),
        (
            #"{"issuer":"https://id.example","token_endpoint":"https://id.example/t","revocation_endpoint":"http://x.example"}"#,
            .misconfigured("…")
        ),
        (
            #"{"issuer":"https://id.example","token_endpoint":"https://id.example/t","revocation_endpoint":{}}"#,
            .unclear("…")
        ),
        ("[]", .unclear("…")), ("<html>", .intercepted("…")),
    ]

    @Test("Rejects an inconsistent discovery document", arguments: lies)
    func lie(_ body: String, _ expected: AuthorityError) throws {
        let discovery = try Discovery(issuer: Issuer("https://id.example"))
        #expect(
            kind(failure { try discovery.endpoints(in: .json(200, body)) }) == expected)
    }

    @Test("Accepts unencrypted endpoints only on loopback from a loopback issuer")
    func loopback() throws {
        let discovery = try Discovery(issuer: Issuer("http://localhost:8080"))
        let near = ServiceResponse.json(
            200, #"{"issuer":"http://localhost:8080","token_endpoint":"http://127.0.0.1:81/t"}"#)
        #expect(try discovery.endpoints(in: near)[.token] == "http://127.0.0.1:81/t")
        let far = ServiceResponse.json(
            200, #"{"issuer":"http://localhost:8080","token_endpoint":"http://id.example/t"}"#)
        #expect(kind(failure { try discovery.endpoints(in: far) }) == .misconfigured("…"))
    }

    @Test func `An issuer that an API names has no endpoint in a private network`() throws {
        let body = #"{"issuer":"https://id.example","token_endpoint":"https://10.0.0.1/t"}"#
        for isFromAPI in [true, false] {
            let discovery = try Discovery(issuer: Issuer("https://id.example"), isFromAPI: isFromAPI)
            let thrown = failure { try discovery.endpoints(in: .json(200, body)) }
            #expect(kind(thrown) == (isFromAPI ? .misconfigured("…") : nil))
        }
    }

    private static let google = "https://accounts.google.com"
    private static let promise = #""authorization_response_iss_parameter_supported":true"#

    /// An issuer, whether the user named it, a member of its document, and whether the document is accepted.
    static let servers: [(String, Bool, String, Bool)] =
        ["token", "userinfo", "revocation", "device_authorization", "authorization", "introspection", "registration"]
        .flatMap { name in
            [
                ("https://id.example", false, #""\#(name)_endpoint":"https://other.example/x""#, false),
                ("https://id.example", false, #""\#(name)_endpoint":"https://id.example:8443/x""#, false),
                ("https://id.example", false, #""\#(name)_endpoint":"https://ID.example:443/x""#, true),
                ("https://id.example", true, #""\#(name)_endpoint":"https://other.example/x""#, true),
                ("https://id.example", false, #""\#(name)_endpoint":"https://other.example/x",\#(promise)"#, true),
                (google, false, #""\#(name)_endpoint":"https://oauth2.googleapis.com/x""#, true),
                (google, false, #""\#(name)_endpoint":"https://other.example/x""#, false),
            ]
        } + [("https://id.example", false, #""end_session_endpoint":"https://other.example/x""#, true)]

    @Test(arguments: servers)
    func `An issuer that only an API names has endpoints on its own servers`(
        issuer: String, isNamed: Bool, members: String, isAccepted: Bool
    ) throws {
        let discovery = try Discovery(issuer: Issuer(issuer), isFromAPI: true, isLimitedToOwnServer: !isNamed)
        let thrown = failure { try discovery.document(in: .json(200, #"{"issuer":"\#(issuer)",\#(members)}"#)) }
        #expect(kind(thrown) == (isAccepted ? nil : .misconfigured("…")))
    }

    // MARK: Over a socket

    @Test("Shares one discovery request among concurrent and later callers")
    func once() async throws {
        try await LoopbackServer.run { request, address in
            request.target.contains("well-known")
                ? .json(discoveryDocument(address)) : .json(#"{"sub":"248289761001"}"#)
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { _ = try await authority.verify(account(at: authority.issuer)) } }
                try await group.waitForAll()
            }
            let copy = authority
            _ = try await copy.verify(account(at: authority.issuer))
            #expect(server.targets.filter { $0.contains("well-known") } == ["/.well-known/openid-configuration"])
            #expect(server.targets.filter { $0 == "/userinfo" }.count == 9)
        }
    }

    @Test("Requests the second discovery URL, and reports a missing document")
    func fallback() async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/.well-known/oauth-authorization-server/realm"
                ? .json(discoveryDocument(address + "/realm")) : .response(404)
        } _: { server in
            let endpoints = try await OAuthAuthority.test(server.address + "/realm").endpoints()
            #expect(endpoints[.token] == server.address + "/realm/token")
            #expect(server.targets.count == 2)

            let missing = await asyncFailure {
                try await OAuthAuthority.test(server.address + "/other").endpoints()
            }
            #expect(kind(missing) == .misconfigured("…"))
        }
    }

    @Test(
        "Stops the search for a discovery document at any status except 404",
        arguments: [
            (500, AuthorityError.unavailable(status: 500, retryAfter: nil)), (401, .unclear("…")),
            (302, .intercepted("…")),
        ])
    func noFallback(_ status: Int, _ expected: AuthorityError) async throws {
        try await LoopbackServer.run { _, _ in
            .response(status, ["Location": "/elsewhere", "WWW-Authenticate": "Bearer error=invalid_token"])
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let thrown = await asyncFailure { try await authority.endpoints() }
            #expect(kind(thrown) == expected)
            #expect(server.targets == ["/.well-known/openid-configuration"])
        }
    }

    @Test("Does not cache a failed discovery request")
    func failureIsNotKept() async throws {
        let served = Counter()
        try await LoopbackServer.run { _, address in
            served.next() == 1 ? .response(503) : .json(discoveryDocument(address))
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let first = await asyncFailure { try await authority.endpoints() }
            #expect(first == .unavailable(status: 503, retryAfter: nil))
            #expect(try await authority.endpoints()[.token] == server.address + "/token")
        }
    }
}
