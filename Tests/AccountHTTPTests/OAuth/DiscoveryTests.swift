import AccountSupport
import AccountKit
import FoundationEssentials
import Synchronization
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
                    "https://id.example:8443/.well-known/openid-configuration/realms/a",
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
        (#"{"issuer":"https://id.example:8443","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example?x","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"","token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":["https://id.example"],"token_endpoint":"https://id.example/t"}"#, .misconfigured("…")),
        // The token endpoint.
        (#"{"issuer":"https://id.example"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":null}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":7}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"/token"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"http://id.example/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"http://127.0.0.1/t"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"javascript:alert(1)"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"https://id.example/t#x"}"#, .misconfigured("…")),
        (#"{"issuer":"https://id.example","token_endpoint":"https://a@id.example/t"}"#, .misconfigured("…")),
        ("[]", .unclear("…")), ("<html>", .intercepted("…")),
    ]

    @Test("Rejects an inconsistent discovery document", arguments: lies)
    func lie(_ body: String, _ expected: AuthorityError) throws {
        let discovery = try Discovery(issuer: Issuer("https://id.example"))
        #expect(
            kind(failure { try discovery.endpoints(in: .json(200, body)) }) == expected)
    }

    @Test(arguments: [
        "https://id.example", "https://id.example/", "HTTPS://id.example", "https://ID.Example",
        "https://id.example:443/",
    ])
    func `Accepts each spelling of the issuer that is the same URL`(spelling: String) throws {
        for form in [Issuer.Form.exact, .verbatim("https://Id.example")] {
            let issuer = Issuer(try Issuer("https://id.example").url, form: form)
            let body = #"{"issuer":"\#(spelling)","token_endpoint":"https://id.example/t"}"#
            #expect(try Discovery(issuer: issuer).endpoints(in: .json(200, body))[.token] == "https://id.example/t")
        }
    }

    // MARK: Endpoints that cannot be used

    private static let flaws = [
        "\"\"", "null", "7", "{}", "[]", "true", #"["https://id.example/x"]"#, #""/x""#, #""x""#, #""//id.example/x""#,
        #""http://id.example/x""#, #""http://127.0.0.1/x""#, #""https://""#, #""https://id.example/x#y""#,
        #""https://a@id.example/x""#, #""urn:x""#, #"" https://id.example/x""#, #""https://id example/x""#,
    ]

    @Test(arguments: flaws)
    func `A flawed endpoint counts as missing, and does not affect others`(value: String) throws {
        let discovery = try Discovery(issuer: Issuer("https://id.example"))
        for name in EndpointName.allCases {
            let other = name == .token ? EndpointName.userInfo : .token
            let members = #""\#(name.rawValue)":\#(value),"\#(other.rawValue)":"https://id.example/other""#
            let document = try discovery.document(in: .json(200, #"{"issuer":"https://id.example",\#(members)}"#))
            #expect(document.urls.mapValues(\.description) == [other: "https://id.example/other"])
            // An empty value says that there is no such endpoint.
            #expect((document.flaws[name] == nil) == ["\"\"", "null"].contains(value))
        }
    }

    @Test(arguments: ["\"\"", #""/x""#, "7", #""http://id.example/x""#])
    func `Refreshes and signs in although another endpoint is flawed`(value: String) async throws {
        let names = EndpointName.allCases.filter { $0 != .token }.map(\.rawValue)
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/.well-known/openid-configuration":
                .json(
                    #"{"issuer":"\#(address)","token_endpoint":"\#(address)/token","#
                        + names.map { "\"\($0)\":\(value)" }.joined(separator: ",") + "}")
            case "/token": .json(#"{"access_token":"a","token_type":"Bearer"}"#)
            default: .response(404)
            }
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            _ = try await authority.refresh(account(at: server.address, refreshToken: "r"))
            let account = try await authority.signIn(username: "alice", password: Secret("password"))
            #expect(account.id == "alice")
            #expect(try await authority.revoke(account) == .notSupported)
            // Only a sign-in that needs the endpoint names its flaw.
            let failure = await asyncFailure { try await authority.beginDeviceSignIn() }
            #expect("\(try #require(failure))".contains("device_authorization_endpoint") == (value != "\"\""))
        }
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
                for _ in 0..<8 {
                    group.addTask { _ = try await authority.verify(account(at: authority.issuer)) }
                }
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

    // MARK: Every address is tried

    private static let first = "/.well-known/openid-configuration"
    private static let second = "/.well-known/oauth-authorization-server"

    private static let statuses: [LoopbackServer.Action] = [
        204, 301, 302, 307, 308, 400, 401, 403, 404, 405, 406, 410, 451,
    ].map { status in
        .response(status, ["Location": "/elsewhere", "WWW-Authenticate": "Bearer error=invalid_token"])
    }

    private static let bodies: [LoopbackServer.Action] = [
        "{}", "[]", "7", "", "null", "not found", "{", #"{"error":"not_found"}"#,
        #"{"issuer":"https://evil.example","token_endpoint":"https://evil.example/t"}"#,
        #"{"issuer":null,"token_endpoint":"https://evil.example/t"}"#,
    ].map { body in .json(body) }

    private static let pages: [LoopbackServer.Action] = [
        .response(200, ["Content-Type": "text/html"], "<!DOCTYPE html><title>App</title>"),
        .response(200, ["Content-Type": "application/json"], "<html>"),
        .response(200, ["Content-Encoding": "gzip"], "x"),
        .response(200, [:], String(repeating: " ", count: 1 << 20) + "{}"),
    ]

    @Test(arguments: statuses + bodies + pages)
    func `Tries the next address after any answer that is no document`(answer: LoopbackServer.Action) async throws {
        try await LoopbackServer.run { request, address in
            request.target == Self.second ? .json(discoveryDocument(address)) : answer
        } _: { server in
            let endpoints = try await OAuthAuthority.test(server.address).endpoints()
            #expect(endpoints[.token] == server.address + "/token")
            #expect(server.targets == [Self.first, Self.second])
        }
    }

    @Test func `Names what each address answered if none has the document`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == Self.first ? .json(#"{"issuer":"https://evil.example"}"#) : .response(403)
        } _: { server in
            let failure = await asyncFailure { try await OAuthAuthority.test(server.address).endpoints() }
            #expect(kind(failure) == .misconfigured("…"))
            let text = "\(try #require(failure))"
            for part in ["\(Self.first): is for another issuer, https://evil.example", "\(Self.second): 403"] {
                #expect(text.contains(part), "\(text)")
            }
        }
    }

    @Test(
        arguments: [
            (.response(302, ["Location": "/"]), .intercepted("…")), (.response(200, [:], "<html>"), .intercepted("…")),
            (.response(511), .intercepted("…")), (.json("{}"), .misconfigured("…")),
        ] as [(LoopbackServer.Action, AuthorityError)])
    func `Suspects another server only if all addresses look like it`(
        answer: LoopbackServer.Action, expected: AuthorityError
    ) async throws {
        try await LoopbackServer.run { _, _ in
            answer
        } _: { server in
            let failure = await asyncFailure { try await OAuthAuthority.test(server.address).endpoints() }
            #expect(kind(failure) == expected)
        }
    }

    private static let temporaryStatuses: [LoopbackServer.Action] = [408, 425, 429, 500, 502, 503, 504].map { status in
        .response(status)
    }

    private static let brokenConnections: [LoopbackServer.Action] = [
        .reset, .sendAndClose("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), .sendAndClose("garbage\r\n\r\n"),
    ]

    @Test(arguments: temporaryStatuses + brokenConnections)
    func `Asks an address once more after a temporary failure`(failure: LoopbackServer.Action) async throws {
        let asked = Counter()
        try await LoopbackServer.run { request, address in
            guard request.target == Self.first else { return .response(404) }
            return asked.next() == 1 ? failure : .json(discoveryDocument(address))
        } _: { server in
            let endpoints = try await OAuthAuthority.test(server.address).endpoints()
            #expect(endpoints[.token] == server.address + "/token")
            #expect(server.targets == [Self.first, Self.second, Self.first])
        }
    }

    @Test(arguments: temporaryStatuses + brokenConnections)
    func `A temporary failure counts only if no address has the document`(failure: LoopbackServer.Action) async throws {
        for hasOther in [true, false] {
            try await LoopbackServer.run { request, address in
                guard request.target == Self.second else { return failure }
                return hasOther ? .json(discoveryDocument(address)) : .response(404)
            } _: { server in
                let thrown = await asyncFailure { try await OAuthAuthority.test(server.address).endpoints() }
                #expect((thrown == nil) == hasOther)
                #expect(kind(thrown) != .misconfigured("…"))
                #expect(server.targets == [Self.first, Self.second] + (hasOther ? [] : [Self.first]))
            }
        }
    }

    @Test func `Does not ask again before the time that the service sent`() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == Self.first ? .response(503, ["Retry-After": "60"]) : .response(404)
        } _: { server in
            let failure = await asyncFailure { try await OAuthAuthority.test(server.address).endpoints() }
            #expect(failure == .unavailable(status: 503, retryAfter: .seconds(60)))
            #expect(server.targets == [Self.first, Self.second])
        }
    }

    @Test(arguments: ["text/html", "text/plain", "application/octet-stream", "application/jwt", ""])
    func `The body of a document decides, and not its label`(type: String) async throws {
        for (status, start, end) in [(200, "", ""), (203, "\u{FEFF}", ""), (206, " \r\n\t", "\n\n")] {
            try await LoopbackServer.run { _, address in
                .response(status, ["Content-Type": type], start + discoveryDocument(address) + end)
            } _: { server in
                let endpoints = try await OAuthAuthority.test(server.address).endpoints()
                #expect(endpoints[.token] == server.address + "/token")
                #expect(server.targets == [Self.first])
            }
        }
    }

    @Test("Does not cache a failed discovery request")
    func failureIsNotKept() async throws {
        let isBroken = Mutex(true)
        try await LoopbackServer.run { _, address in
            isBroken.withLock(\.self) ? .response(503) : .json(discoveryDocument(address))
        } _: { server in
            let authority = try OAuthAuthority.test(server.address)
            let first = await asyncFailure { try await authority.endpoints() }
            #expect(first == .unavailable(status: 503, retryAfter: nil))
            isBroken.withLock { $0 = false }
            #expect(try await authority.endpoints()[.token] == server.address + "/token")
        }
    }
}
