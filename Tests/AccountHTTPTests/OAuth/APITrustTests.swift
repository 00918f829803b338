import AccountSupport
import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// The decisions that an API makes by naming an authorization server, and those that only the app, the user or the entry
/// of a known service makes.
struct APITrustTests {
    /// An API at `/mcp`, and its authorization server.
    private static func respond(
        to request: LoopbackServer.Request, at address: String, metadata: [String: String] = [:]
    ) -> LoopbackServer.Action {
        switch request.target {
        case "/mcp": return .response(401, ["WWW-Authenticate": "Bearer"])
        case "/.well-known/oauth-protected-resource/mcp":
            return .json(#"{"resource":"\#(address)/mcp","authorization_servers":["\#(address)"]}"#)
        case "/.well-known/oauth-authorization-server":
            var members = [
                "issuer": #""\#(address)""#, "token_endpoint": #""\#(address)/token""#,
                "authorization_endpoint": #""\#(address)/authorize""#, "userinfo_endpoint": #""\#(address)/userinfo""#,
                "device_authorization_endpoint": #""\#(address)/device""#,
                "registration_endpoint": #""\#(address)/register""#,
                "code_challenge_methods_supported": #"["S256"]"#,
            ]
            members.merge(metadata) { $1 }
            return .json("{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}")
        case "/device":
            return .json(
                #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://example.com","expires_in":9}"#)
        case "/token": return .json(#"{"access_token":"access","token_type":"Bearer"}"#)
        case "/userinfo": return .json(#"{"sub":"248289761001"}"#)
        case "/register": return .json(#"{"client_id":"registered"}"#, status: 201)
        default: return .response(404)
        }
    }

    private static func authority(
        _ server: LoopbackServer, issuer: String? = nil, _ client: OAuthClient = OAuthClient(identifier: "tool"),
        _ options: OAuthRequestOptions = OAuthRequestOptions()
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            api: server.address + "/mcp", issuer: issuer, client: client, options: options, timeout: .seconds(20),
            clock: FixedClock())
    }

    private static func accountError(_ body: () async throws -> some Any) async -> AccountError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? AccountError
        }
    }

    // MARK: Credentials that the user supplies

    enum Supplied: CaseIterable {
        case browserSecret, deviceSecret, passwordSecret, machineSecret, machineKey, workload, password, token

        func client(_ assertion: String) throws -> OAuthClient {
            var client = OAuthClient(identifier: "tool")
            switch self {
            case .browserSecret, .deviceSecret, .passwordSecret, .machineSecret: client.secret = Secret(canary)
            case .machineKey: client.assertion = FixedAssertion()
            case .workload: try client.identify(by: .file(assertion), grant: .jwtBearer)
            case .password, .token: break
            }
            return client
        }

        func signIn(_ authority: OAuthAuthority) async throws {
            switch self {
            case .browserSecret:
                let signIn = try await authority.beginBrowserSignIn()
                await signIn.finish(with: .failure(CancellationError()))
            case .deviceSecret: _ = try await authority.beginDeviceSignIn()
            case .machineSecret, .machineKey, .workload: _ = try await authority.signInAsClient()
            case .password, .passwordSecret:
                try await authority.preparePasswordSignIn()
                _ = try await authority.signIn(username: "alice", password: Secret(canary))
            case .token: _ = try await authority.signIn(token: Secret(canary))
            }
        }
    }

    private struct FixedAssertion: ClientAssertion {
        let keyFile: ClientKeyFile? = nil

        func assertion(for client: String, audience: String, at date: Date) throws(AuthorityError) -> Secret {
            Secret(canary)
        }
    }

    @Test(arguments: Supplied.allCases)
    func `Sends a supplied credential only to an issuer that the user named`(supplied: Supplied) async throws {
        try await TemporaryFile.run(canary) { assertion in
            for isNamed in [true, false] {
                try await LoopbackServer.run {
                    Self.respond(to: $0, at: $1)
                } _: { server in
                    let client = try supplied.client(assertion)
                    let authority = try Self.authority(server, issuer: isNamed ? server.address : nil, client)
                    guard !isNamed else { return try await supplied.signIn(authority) }
                    let error = await Self.accountError { try await supplied.signIn(authority) }
                    #expect(error?.code == .misconfigured)
                    #expect(error?.message.contains(server.address + "/mcp") == true, "\(String(describing: error))")
                    #expect(error?.hint?.contains("--issuer \(server.address)") == true, "\(String(describing: error))")
                    // A chosen issuer of several is still one that the API named.
                    let chosen = try #require(authority.choosing(issuer: server.address) as? OAuthAuthority)
                    #expect(await Self.accountError { try await supplied.signIn(chosen) }?.code == .misconfigured)
                    #expect(server.requests.allSatisfy { $0.method == "GET" && $0.headers["authorization"] == nil })
                }
            }
        }
    }

    /// Besides the app and the user, the entry of a known service names its issuer, and a URL that is its own issuer.
    @Test(
        arguments: [
            ("https://id.example.com", "https://api.example.com", false),
            ("https://gitlab.com", "https://api.example.com", true),
            ("https://gitlab.com/group", "https://api.example.com", false),
            ("https://api.example.com", "https://api.example.com", true),
            ("https://api.example.com", "https://api.example.com/", true),
            ("https://api.example.com/mcp", "https://api.example.com/mcp", true),
            ("https://api.example.com", "https://api.example.com/mcp", false),
            ("https://api.example.com/mcp", "https://api.example.com", false),
            ("https://api.example.com:8443", "https://api.example.com", false),
        ])
    func `Knows which issuers an API alone names`(issuer: String, api: String, isNamed: Bool) throws {
        let settings = OAuthSettings(
            client: OAuthClient(identifier: "tool", secret: Secret(canary)), timeout: .seconds(20),
            tokenRequestTimeout: .seconds(20), clock: FixedClock())
        for isGiven in [false, true] {
            let connection = try ServiceConnection(
                to: try Issuer(issuer), KnownService.all.first { $0.issuer == issuer }, endpoints: nil,
                api: APIOrigin(url: try ServiceURL(api), isIssuerGiven: isGiven), settings)
            #expect(connection.isNamedByAPIOnly == !(isNamed || isGiven))
            // The entry of a known service does not say that the user wants this API to have its token.
            #expect(try connection.isGiven == (isGiven || Issuer(issuer).isSame(as: api)))
        }
    }

    // MARK: The servers of the endpoints

    private static let elsewhere = "http://127.0.0.1:1"
    private static let promise = ["authorization_response_iss_parameter_supported": "true"]

    @Test func `Refuses the browser before a registration if a code could go elsewhere`() async throws {
        for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"] {
            try await LoopbackServer.run {
                Self.respond(to: $0, at: $1, metadata: [name: "\"\(Self.elsewhere)/x\""])
            } _: { server in
                let failure = await asyncFailure { try await Self.authority(server).beginBrowserSignIn() }
                let text = "\(try #require(failure))"
                for part in [String(server.address.dropFirst(7)), "127.0.0.1:1,", name, "--issuer \(server.address)"] {
                    #expect(text.contains(part), "\(text)")
                }
                #expect(server.requests.allSatisfy { $0.method == "GET" })
                let named = try Self.authority(server, issuer: server.address)
                try await named.beginBrowserSignIn().finish(with: .failure(CancellationError()))
            }
        }
    }

    @Test func `A promised issuer lets a browser go elsewhere, but no device`() async throws {
        for name in ["device_authorization_endpoint", "token_endpoint"] {
            try await LoopbackServer.run {
                let metadata = Self.promise.merging([name: "\"\(Self.elsewhere)/x\""]) { $1 }
                return Self.respond(to: $0, at: $1, metadata: metadata)
            } _: { server in
                let authority = try Self.authority(server)
                try await authority.beginBrowserSignIn().finish(with: .failure(CancellationError()))
                let failure = await asyncFailure { try await authority.beginDeviceSignIn() }
                #expect("\(try #require(failure))".contains("--issuer \(server.address)"))
                #expect(!server.targets.contains("/device"))
            }
        }
    }

    // MARK: The service that the API names

    @Test(arguments: [
        ("https://example.com/mcp", "https://example.com/tenant", true),
        ("https://example.com/mcp", "https://login.example.com", true),
        ("https://api.example.com/mcp", "https://example.com", true),
        ("https://api.example.com/mcp", "https://login.example.com", false),
        ("https://example.com/mcp", "https://badexample.com", false),
        ("https://10.0.0.1/mcp", "https://10.0.0.2", false),
    ])
    func `Hosts are near each other if one contains the other`(api: String, issuer: String, isNear: Bool) throws {
        #expect(try ServiceURL(api).isNear(ServiceURL(issuer)) == isNear)
    }

    @Test func `Says who named the service, without a request to it`() async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            let place = String(server.address.dropFirst("http://".count))
            for isNamed in [true, false] {
                let service = try await Self.authority(server, issuer: isNamed ? server.address : nil).signInService()
                #expect(
                    service
                        == SignInService(
                            issuer: server.address, place: place, apiPlace: place, isGiven: isNamed,
                            isNamedByAPIOnly: !isNamed, isNearAPI: true))
            }
            #expect(!server.targets.contains("/.well-known/oauth-authorization-server"))
        }
    }

    // MARK: The audience of the tokens

    /// `API` stands for the address of the API's server.
    private static let audiences = [
        (#"{"aud":"API/mcp"}"#, true), (#"{"aud":["urn:other","API/mcp/"]}"#, true), (#"{"aud":"API"}"#, true),
        (#"{"aud":["API/"]}"#, true), (#"{"aud":"requested"}"#, true), (#"{"sub":"1"}"#, true),
        (#"{"aud":[]}"#, true), (#"{"aud":7}"#, false), ("", true), (#"{"aud":"urn:other"}"#, false),
        (#"{"aud":["urn:other","https://evil.example/mcp"]}"#, false), (#"{"aud":"API/other"}"#, false),
        (#"{"aud":""}"#, true), (#"{"aud":"x\u001b[31m"}"#, false),
    ]

    @Test(arguments: audiences)
    func `Sends the API no token that is for another API`(claims: String, isSent: Bool) async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/mcp/notes" ? .json("[]") : Self.respond(to: request, at: address)
        } _: { server in
            let payload = claims.replacing("API", with: server.address)
            var account = Account.fresh(at: ManualClock().now)
            account.credentials.accessToken = payload.isEmpty ? Secret("opaque") : jsonWebToken(payload)
            account.credentials.resources = [server.address + "/mcp"]
            let authority = try Self.authority(
                server, OAuthClient(identifier: "tool"), OAuthRequestOptions(audience: "requested"))
            let problem = authority.audienceProblem(of: account.credentials)
            #expect((problem == nil) == isSent)
            #expect(problem?.code == (isSent ? nil : .misconfigured))
            #expect(problem.map { !"\($0)".contains("\u{1B}") && "\($0)".contains("--audience") } ?? true)

            let store = try await AccountStore.inMemory(signedIn: account)
            let client = try AuthenticatedClient(origin: server.address, store: store, authority: authority)
            let error = await Self.accountError { try await client.get("/mcp/notes") }
            #expect(error?.code == problem?.code)
            #expect(server.targets == (isSent ? ["/mcp/notes"] : []))
            let requirement = await Self.accountError { try await authority.requirement(for: account) }
            #expect(requirement?.code == problem?.code)
            #expect(store.account != nil)

            // A service without metadata is not asked for a token for its URL.
            account.credentials.resources = []
            #expect(authority.audienceProblem(of: account.credentials) == nil)
        }
    }

    /// Documents are public, and another program may answer at an address where a document could be.
    @Test func `Asks for documents without a token or another credential`() async throws {
        try await LoopbackServer.run { request, address in
            Self.respond(to: request, at: address)
        } _: { server in
            var user = account(at: server.address, refreshToken: "refresh-\(canary)")
            user.credentials.resources = [server.address + "/mcp"]
            let api = try Self.authority(
                server, issuer: server.address, OAuthClient(identifier: "tool", secret: Secret("s-\(canary)")))
            _ = try await api.service()
            // Each of these reads the documents again, and its result does not matter here.
            let services: [any AccountAuthority] = [
                api, try OAuthAuthority.test(server.address), try Self.authority(server),
            ]
            for authority in services {
                _ = try? await authority.refresh(user)
                _ = try? await authority.verify(user)
                _ = try? await authority.revoke(user)
            }
            _ = try await api.clockOffset()
            let documents = server.requests.filter { $0.target.hasPrefix("/.well-known/") }
            #expect(Set(documents.map(\.target)).count >= 3)
            for request in documents {
                #expect(request.headers["authorization"] == nil && request.headers["dpop"] == nil)
                #expect(!"\(request)".contains(canary))
            }
            let first = try #require(server.requests.first)
            #expect(first.target == "/mcp" && !"\(first)".contains(canary))
            // The refresh sent the token, whose last character but one is percent-encoded.
            #expect(server.requests.contains { $0.target == "/token" && $0.body.contains(canary.prefix(15)) })
        }
    }
}
