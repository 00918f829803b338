import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// Requests that a service would refuse are sent in another form: without `resource`, without `openid`, or pushed first.
struct DeadEndTests {
    private static let pushed = #"{"request_uri":"urn:example:bwc4JK-ESC0w8acc191e-Y1LTC2","expires_in":61}"#

    /// An API at `/mcp`, and its authorization server, with members of its metadata.
    private func run(
        _ metadata: [String: String] = [:], push: LoopbackServer.Action = .json(pushed, status: 201),
        token: LoopbackServer.Action = .json(
            #"{"access_token":"access","token_type":"Bearer","refresh_token":"refresh","scope":"read offline_access"}"#),
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target.prefix(while: { $0 != "?" }) {
            case "/mcp": return .response(401, ["WWW-Authenticate": "Bearer"])
            case "/.well-known/oauth-protected-resource/mcp":
                return .json(#"{"resource":"\#(address)/mcp","authorization_servers":["\#(address)"]}"#)
            case "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration":
                var members = [
                    "issuer": #""\#(address)""#, "token_endpoint": #""\#(address)/token""#,
                    "authorization_endpoint": #""\#(address)/authorize""#,
                    "device_authorization_endpoint": #""\#(address)/device""#,
                    "pushed_authorization_request_endpoint": #""\#(address)/par""#,
                    "code_challenge_methods_supported": #"["S256"]"#,
                ]
                members.merge(metadata) { $1 }
                return .json("{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}")
            case "/par": return push
            case "/device":
                return .json(
                    #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://example.com","expires_in":9}"#
                )
            case "/token": return token
            default: return .response(404)
            }
        } _: { server in
            try await body(server)
        }
    }

    private func authority(
        _ server: LoopbackServer, _ options: OAuthRequestOptions = OAuthRequestOptions(), secret: Secret? = nil,
        scopes: [String]? = nil, adding additional: [String] = []
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: server.address, clientID: "tool", clientSecret: secret, scopes: scopes,
            additionalScopes: additional,
            options: options, timeout: .seconds(20), clock: FixedClock())
    }

    private func form(_ server: LoopbackServer, _ target: String) -> [String: String] {
        let body = server.requests.last { $0.target == target }?.body ?? ""
        return Dictionary(
            body.split(separator: "&").map { field in
                let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
                return (parts[0], parts.count == 2 ? parts[1] : "")
            }
        ) { $1 }
    }

    // MARK: resource

    @Test(arguments: [false, true]) func `Leaves out resource at each request of a session`(omits: Bool) async throws {
        try await run { server in
            let authority = try OAuthAuthority(
                api: server.address + "/mcp", client: OAuthClient(identifier: "tool"),
                options: OAuthRequestOptions(omitsResource: omits), timeout: .seconds(20), clock: FixedClock())
            let signIn = try await authority.beginBrowserSignIn()
            #expect(signIn.url.contains("resource=") == !omits)
            await signIn.finish(with: .failure(CancellationError()))
            let device = try await authority.beginDeviceSignIn()
            #expect((form(server, "/device")["resource"] == nil) == omits)
            let credentials = try await authority.pollDeviceSignIn(device)
            #expect((form(server, "/token")["resource"] == nil) == omits)
            // The session is for the API, and only its requests change.
            #expect(credentials.resources == [server.address + "/mcp"] && credentials.omitsResource == omits)

            // Another program has no options.
            let account = Account(id: "1", issuer: server.address, credentials: credentials)
            let other = try self.authority(server)
            let renewed = credentials.renewed(by: try await other.refresh(account))
            let refresh = form(server, "/token")
            #expect(refresh["grant_type"] == "refresh_token" && (refresh["resource"] == nil) == omits)
            #expect((refresh["scope"] == nil) == !omits, "only the scopes name the API")
            #expect(renewed.resources == credentials.resources && renewed.omitsResource == omits)
        }
    }

    @Test(arguments: [
        ("https://login.microsoftonline.com/common/v2.0", true),
        ("https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0", true),
        ("https://accounts.google.com", false), ("https://auth.example.com", false),
    ])
    func `Leaves out resource if the entry of the service says so`(issuer: String, omits: Bool) throws {
        let authority = try OAuthAuthority(
            issuer: issuer, clientID: "tool", options: OAuthRequestOptions(resources: ["https://api.example.com"]))
        let connection = try #require(authority.resolvedService).connection
        #expect(connection.omitsResource == omits)
        #expect(connection.sentResources == (omits ? [] : ["https://api.example.com"]))
    }

    // MARK: openid

    @Test(
        arguments: [
            (nil, nil, [], "openid profile email"), (["openid"], nil, [], "openid profile email"),
            (["read"], nil, [], ""), ([], nil, [], ""), (["read", "offline_access"], nil, [], "offline_access"),
            (["email"], nil, [], "email"), (["read"], nil, ["read"], "read"),
            // The user chose it.
            (["read"], nil, ["openid"], "openid"), (["read"], ["openid", "read"], [], "openid read"),
            (["read"], ["profile"], [], "profile"),
        ] as [([String]?, [String]?, [String], String)])
    func `Does not request openid if the service does not list it`(
        listed: [String]?, scopes: [String]?, additional: [String], requested: String
    ) async throws {
        let list = listed.map { "[" + $0.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
        try await run(list.map { ["scopes_supported": $0] } ?? [:]) { server in
            let authority = try authority(server, scopes: scopes, adding: additional)
            #expect(try await authority.service().scopes.requested().joined(separator: " ") == requested)
        }
    }

    // MARK: Pushed requests

    @Test(arguments: [nil, Secret("secret-0123456789")])
    func `Pushes the request if the metadata require it`(secret: Secret?) async throws {
        try await run(["require_pushed_authorization_requests": "true"]) { server in
            let options = OAuthRequestOptions(audience: "api", parameters: ["prompt": "login"])
            let signIn = try await authority(server, options, secret: secret, scopes: ["read"]).beginBrowserSignIn()
            #expect(
                signIn.url == server.address
                    + "/authorize?client_id=tool&request_uri=urn%3Aexample%3Abwc4JK-ESC0w8acc191e-Y1LTC2")
            #expect(signIn.pageLifetime == .seconds(61) && signIn.lifetime == .seconds(600))
            let form = form(server, "/par")
            let values = [
                "response_type": "code", "client_id": "tool", "scope": "read", "code_challenge_method": "S256",
                "audience": "api", "prompt": "login",
            ]
            for (name, value) in values { #expect(form[name] == value, "\(name)") }
            #expect(form["state"] != nil && form["code_challenge"] != nil && form["redirect_uri"] != nil)
            let request = try #require(server.requests.last { $0.target == "/par" })
            #expect((request.headers["authorization"]?.hasPrefix("Basic ") == true) == (secret != nil))
            await signIn.finish(with: .failure(CancellationError()))
        }
    }

    @Test func `Pushes no request if the metadata do not require it`() async throws {
        try await run(["require_pushed_authorization_requests": "false"]) { server in
            let signIn = try await authority(server).beginBrowserSignIn()
            #expect(signIn.url.contains("code_challenge=") && signIn.pageLifetime == nil)
            #expect(!server.targets.contains("/par"))
            await signIn.finish(with: .failure(CancellationError()))
        }
    }

    @Test(
        arguments: [
            (.json(#"{"error":"invalid_redirect_uri"}"#, status: 400), .oauthError("invalid_redirect_uri")),
            (.json(#"{"error":"invalid_client"}"#, status: 401), .oauthError("invalid_client")),
            (.response(503), .unavailable(status: 503, retryAfter: nil)), (.response(400), .refused(status: 400)),
            (.json("{}", status: 201), .unclear("the endpoint for pushed authorization requests sent no request_uri")),
            (
                .json(#"{"request_uri":"urn:a b"}"#, status: 201),
                .unclear("the endpoint for pushed authorization requests sent no request_uri")
            ),
        ] as [(LoopbackServer.Action, AuthorityError)])
    func `Reports why a request cannot be pushed, and stops listening`(
        response: LoopbackServer.Action, failure: AuthorityError
    ) async throws {
        try await run(["require_pushed_authorization_requests": "true"], push: response) { server in
            let error = await #expect(throws: AuthorityError.self) { try await authority(server).beginBrowserSignIn() }
            #expect(error == failure)
            let port = form(server, "/par")["redirect_uri"]?.split(separator: "%3A").last?.prefix { $0.isNumber }
            let number = try #require(port.flatMap { Int($0) })
            #expect(await !RawClient.isOpen(number))
        }
    }

    @Test func `Names another way if the endpoint for pushed requests is missing`() async throws {
        let metadata = [
            "require_pushed_authorization_requests": "true", "pushed_authorization_request_endpoint": "null",
        ]
        try await run(metadata) { server in
            let error = await #expect(throws: AuthorityError.self) { try await authority(server).beginBrowserSignIn() }
            guard case .misconfigured(let text)? = error else {
                Issue.record("\(String(reflecting: error))")
                return
            }
            #expect(text.contains("--device"))
        }
    }

    // MARK: Refusals

    @Test(
        arguments: [
            (#"{"error":"invalid_grant","suberror":"basic_action","error_codes":[50076]}"#, "interaction_required"),
            (#"{"error":"invalid_grant","suberror":"consent_required"}"#, "interaction_required"),
            (#"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#, "interaction_required"),
            (#"{"error":"invalid_grant","suberror":"bad_token"}"#, "invalid_grant"),
            (#"{"error":"invalid_grant","suberror":"token_expired"}"#, "invalid_grant"),
            (#"{"error":"invalid_grant","suberror":""}"#, "invalid_grant"),
            (#"{"error":"invalid_grant","error_subtype":"other"}"#, "invalid_grant"),
            (#"{"error":"invalid_grant"}"#, "invalid_grant"),
        ])
    func `Keeps a refresh token if the service asks only for the user`(body: String, code: String) throws {
        for isRefresh in [true, false] {
            let parser = ResponseParser(.token, isRefresh: isRefresh)
            let error = #expect(throws: AuthorityError.self) { try parser.object(in: .json(400, body)) }
            #expect(error == .oauthError(isRefresh ? code : "invalid_grant"))
        }
    }

    // MARK: Certificates

    @Test(
        arguments: [
            ("", "is empty"), (" \n", "is empty"), ("hello", "contains no certificate"),
            ("-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----\n", "contains no certificate"),
            ("-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n", nil),
            ("# a comment\n-----BEGIN TRUSTED CERTIFICATE-----\nMII=\n", nil),
        ] as [(String, String?)])
    func `Explains why a file contains no certificates to trust`(text: String, flaw: String?) {
        let found = NetworkEnvironment.flaw(ofCertificates: Array(text.utf8), in: "/ca")
        #expect(found.map { $0.contains(flaw ?? "-") } ?? (flaw == nil))
    }

    @Test func `Names the command that converts a certificate from DER`() {
        let flaw = NetworkEnvironment.flaw(ofCertificates: [0x30, 0x82, 0x01, 0x0A, 0x02], in: "/my ca.der")
        #expect(flaw?.contains("`openssl x509 -inform der -in '/my ca.der' -out '/my ca.der.pem'`") == true)
    }
}
