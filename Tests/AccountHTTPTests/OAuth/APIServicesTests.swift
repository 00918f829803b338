import AccountKit
import AccountTesting
import FoundationEssentials
import InMemoryLogging
import Logging
import Synchronization
import Testing

@testable import AccountHTTP

struct APIServicesTests {
    /// An API at `/mcp`, and its authorization server.
    static func respond(
        to request: LoopbackServer.Request, at address: String, metadata: [String: String] = [:]
    ) -> LoopbackServer.Action {
        let path = request.target.prefix { $0 != "?" }
        switch path {
        case "/mcp": return .response(401, ["WWW-Authenticate": "Bearer"])
        case "/.well-known/oauth-protected-resource/mcp":
            return .json(#"{"resource":"\#(address)/mcp","authorization_servers":["\#(address)"]}"#)
        case "/.well-known/oauth-authorization-server":
            var members = [
                "issuer": #""\#(address)""#, "token_endpoint": #""\#(address)/token""#,
                "authorization_endpoint": #""\#(address)/authorize""#,
                "registration_endpoint": #""\#(address)/register""#,
                "device_authorization_endpoint": #""\#(address)/device""#,
                "code_challenge_methods_supported": #"["S256"]"#, "scopes_supported": #"["offline_access","profile"]"#,
            ]
            members.merge(metadata) { $1 }
            return .json("{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}")
        case "/register":
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"\]/)?.output.1.replacing("\\/", with: "/")
            return .json(
                #"{"client_id":"registered","redirect_uris":["\#(uri ?? "")"],"client_secret":"\#(canary)","#
                    + #""token_endpoint_auth_method":"client_secret_post","client_secret_expires_at":0}"#, status: 201)
        case "/device":
            return .json(
                #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://example.com","expires_in":9}"#)
        case "/token":
            return .json(#"{"access_token":"access","token_type":"Bearer","refresh_token":"refresh"}"#)
        default: return .response(404)
        }
    }

    static func registrations(_ storage: InMemoryArchiveStorage = .init()) -> ClientRegistrations {
        ClientRegistrations(
            storage: storage, key: InMemoryKey(), appIdentifier: "test", clock: FixedClock())
    }

    static func authority(
        _ server: LoopbackServer, _ client: OAuthClient? = nil, issuer: String? = nil, scopes: [String]? = nil
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            api: server.address + "/mcp", issuer: issuer,
            client: client ?? .registration(in: registrations(), name: "Notes"),
            scopes: scopes, timeout: .seconds(20), clock: FixedClock())
    }

    @Test func `Creating an authority sends nothing`() async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            let authority = try Self.authority(server)
            #expect(authority.issuer == nil)
            #expect(!authority.isAuthority(of: account(at: "https://id.example")))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `Requires a client ID only at a service that registers no apps`() async throws {
        for endpoint in [nil, "null"] {
            try await LoopbackServer.run {
                Self.respond(to: $0, at: $1, metadata: endpoint.map { ["registration_endpoint": $0] } ?? [:])
            } _: { server in
                let registering = try Self.authority(server)
                #expect(try await registering.requiresClientID() == (endpoint != nil))
                let identified = try Self.authority(server, OAuthClient(identifier: "notes"))
                #expect(try await !identified.requiresClientID())
                let described = try Self.authority(server, OAuthClient(metadataURL: "https://notes.example/client"))
                #expect(try await described.requiresClientID())
                #expect(!server.requests.contains { $0.target == "/register" })
            }
        }
    }

    @Test(arguments: [
        "https://docs.example/apps#register", "HTTPS://docs.example", "http://docs.example", "docs.example", nil,
    ])
    func `Returns the documentation of the service only if it is an https page`(page: String?) async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1, metadata: ["service_documentation": page.map { "\"\($0)\"" } ?? "7"])
        } _: { server in
            let isShown = page?.lowercased().hasPrefix("https://") == true
            let documentation = try await Self.authority(server).serviceDocumentation()
            #expect(documentation == (isShown ? page : nil))
        }
    }

    @Test(arguments: [true, false])
    func `Keeps its registration in use after a sign-in has returned`(usesBrowser: Bool) async throws {
        let root = FileManager.default.temporaryDirectory.path() + "/account-tests-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        // Only registrations in files can be in use.
        let registrations = ClientRegistrations(container: try AppContainer(root: root, identifier: "test"))
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            func isRemoved() async throws -> Bool {
                try await registrations.remove(clientID: "registered", at: server.address) {
                    false
                } removingAtService: { _ in
                }
                return try await registrations.registration(at: server.address) == nil
            }
            do {
                let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
                if usesBrowser {
                    let signIn = try await authority.beginBrowserSignIn()
                    await signIn.finish(with: .success(account(at: server.address)))
                } else {
                    _ = try await authority.beginDeviceSignIn()
                }
                #expect(try await !isRemoved())
                withExtendedLifetime(authority) {}
            }
            #expect(try await isRemoved())
        }
    }

    @Test func `Registers, and sends the resource with a password`() async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            let authority = try Self.authority(server, issuer: server.address)
            let account = try await authority.signIn(username: "alice", password: Secret("password"))
            #expect(account.credentials.clientID == "registered")
            #expect(account.credentials.resources == [server.address + "/mcp"])
        }
    }

    @Test func `Registers, and sends the resource with every request`() async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            let authority = try Self.authority(server)
            let device = try await authority.beginDeviceSignIn()
            let credentials = try await authority.pollDeviceSignIn(device)
            let account = try await authority.account(with: credentials)
            #expect(account.credentials.clientID == "registered")
            #expect(account.credentials.clientSecret == .secret(Secret(canary)))
            #expect(account.credentials.resources == [server.address + "/mcp"])
            #expect(account.credentials.scopes == ["profile", "offline_access"])
            #expect(account.issuer == server.address)

            // Another process knows only the stored account.
            let later = try Self.authority(server)
            #expect(later.isAuthority(of: account))
            _ = try await later.refresh(account)
            let resource =
                "resource=" + (server.address + "/mcp").replacing(":", with: "%3A").replacing("/", with: "%2F")
            let sent = server.requests.filter { ["/device", "/token"].contains($0.target) }
            #expect(sent.count == 3)
            for request in sent {
                #expect(request.body.contains(resource), "\(request)")
                #expect(request.body.contains("client_id=registered"), "\(request)")
                #expect(request.body.contains("client_secret=" + canary.replacing("~", with: "%7E")), "\(request)")
            }
            let registration = try #require(server.requests.first { $0.target == "/register" })
            for text in [
                #""application_type":"native""#, #""client_name":"Notes""#, #""scope":"profile offline_access""#,
            ] {
                #expect(registration.body.contains(text), "\(registration.body)")
            }
        }
    }

    @Test func `Creates the authority of the authorization server that the API names`() async throws {
        try await LoopbackServer.run {
            Self.respond(to: $0, at: $1)
        } _: { server in
            let api = try OAuthAuthority(
                api: server.address + "/mcp", client: OAuthClient(identifier: "tool"), clock: FixedClock())
            let service = try await api.service()
            #expect(service.connection.name == server.address)
            #expect(service.connection.options.resources == [server.address + "/mcp"])
            #expect(service.clients.clientID == "tool")
        }
    }

    /// The metadata of the API, and where the document of its authorization server is.
    @Test(arguments: [401, 404, 405])
    func `Takes the origin of an API without metadata as its issuer`(status: Int) async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/mcp" where request.method == "GET": .response(status, ["WWW-Authenticate": "Bearer"])
            case "/.well-known/oauth-protected-resource/mcp": .response(404)
            default: Self.respond(to: request, at: address)
            }
        } _: { server in
            let authority = try Self.authority(server)
            #expect(try await authority.authorizationServers() == [server.address])
            let service = try await authority.service()
            #expect(service.connection.name == server.address && service.connection.options.resources.isEmpty)
            // The document is read once.
            #expect(server.targets.filter { $0 == "/.well-known/oauth-authorization-server" }.count == 1)

            let device = try await authority.beginDeviceSignIn()
            let account = try await authority.account(with: try await authority.pollDeviceSignIn(device))
            let later = try Self.authority(server)
            #expect(later.isAuthority(of: account))
            _ = try await later.refresh(account)
            var other = account
            other.issuer = server.address + "/other"
            #expect(!later.isAuthority(of: other))
        }
    }

    @Test(arguments: ["", #","authorization_servers":[]"#, #","authorization_servers":null"#])
    func `Metadata without servers leaves the issuer to the origin or the user`(members: String) async throws {
        try await LoopbackServer.run { request, address in
            request.target == "/.well-known/oauth-protected-resource/mcp"
                ? .json(#"{"resource":"\#(address)/mcp"\#(members)}"#) : Self.respond(to: request, at: address)
        } _: { server in
            for issuer in [nil, server.address + "/"] {
                let service = try await Self.authority(server, issuer: issuer).service()
                #expect(service.connection.name == server.address)
                #expect(service.connection.options.resources == [server.address + "/mcp"])
            }
        }
    }

    @Test(arguments: [500, 501, 503])
    func `Needs no metadata of an API where every unknown path fails`(status: Int) async throws {
        for hasService in [true, false] {
            try await LoopbackServer.run { request, address in
                let path = request.target
                if path == "/mcp" { return .response(404) }
                let isService = !path.contains("oauth-protected-resource") && hasService
                return isService ? Self.respond(to: request, at: address) : .response(status)
            } _: { server in
                if hasService {
                    let service = try await Self.authority(server).service()
                    #expect(service.connection.name == server.address)
                } else {
                    let failure = await asyncFailure { try await Self.authority(server).service() }
                    #expect(failure == .unavailable(status: status, retryAfter: nil))
                }
                // It is unknown whether the API accepts the tokens of a given issuer.
                let failure = await asyncFailure {
                    try await Self.authority(server, issuer: server.address).service()
                }
                #expect(failure == .unavailable(status: status, retryAfter: nil))
            }
        }
    }

    @Test(
        arguments: [
            ("https://login.microsoftonline.com/common/v2.0", .perTenant),
            ("https://login.microsoftonline.com/organizations/v2.0", .perTenant),
            ("https://accounts.google.com", .schemeOptional),
            ("https://id.example/a/", .verbatim("https://id.example/a/")),
            ("https://gitlab.com", .verbatim("https://gitlab.com")),
        ] as [(String, Issuer.Form)])
    func `Knows how the services that an API names spell their issuers`(issuer: String, form: Issuer.Form) async throws
    {
        try await LoopbackServer.run { request, address in
            request.target == "/.well-known/oauth-protected-resource/mcp"
                ? .json(#"{"resource":"\#(address)/mcp","authorization_servers":["\#(issuer)"]}"#) : .response(404)
        } _: { server in
            let service = try await Self.authority(server).service()
            #expect(service.connection.issuer.form == form)
        }
    }

    @Test func `Prefers the URL of an API to its origin as the issuer`() async throws {
        try await LoopbackServer.run { request, address in
            switch request.target {
            case "/mcp/.well-known/openid-configuration":
                .json(#"{"issuer":"\#(address)/mcp","token_endpoint":"\#(address)/mcp/token"}"#)
            case "/.well-known/oauth-protected-resource/mcp": .response(404)
            default: Self.respond(to: request, at: address)
            }
        } _: { server in
            let service = try await Self.authority(server).service()
            #expect(service.connection.name == server.address + "/mcp")
        }
    }

    @Test func `Names all addresses of an API without metadata or service`() async throws {
        try await LoopbackServer.run { _, _ in
            .response(404)
        } _: { server in
            let failure = await asyncFailure { try await Self.authority(server).service() }
            #expect(kind(failure) == .misconfigured("…"))
            let text = "\(try #require(failure))"
            for path in Set(server.targets) where path != "/mcp" { #expect(text.contains("\(path): 404"), "\(text)") }
            #expect(server.requests.allSatisfy { $0.target == "/mcp" || $0.method == "GET" })
        }
    }

    @Test func `Uses a metadata document only where the service supports it`() async throws {
        let url = "https://app.example/client.json"
        for isSupported in [true, false] {
            try await LoopbackServer.run { request, address in
                Self.respond(
                    to: request, at: address,
                    metadata: ["client_id_metadata_document_supported": isSupported ? "true" : "null"])
            } _: { server in
                var client = OAuthClient.registration(in: Self.registrations(), name: "Notes")
                client.metadataURL = url
                let signIn = try await Self.authority(server, client).beginBrowserSignIn(deliveryTime: .zero)
                let visit = try BrowserVisit(signIn.url)
                #expect(visit.query["client_id"] == (isSupported ? url : "registered"))
                await signIn.finish(with: .failure(CancellationError()))
            }
        }
    }

    @Test(arguments: [#"["plain"]"#, "[]", "null"])
    func `Refuses the browser without PKCE, and registers nothing`(methods: String) async throws {
        try await LoopbackServer.run { request, address in
            Self.respond(to: request, at: address, metadata: ["code_challenge_methods_supported": methods])
        } _: { server in
            let authority = try Self.authority(server)
            await #expect(throws: AuthorityError.self) { try await authority.beginBrowserSignIn() }
            #expect(!server.targets.contains("/register"))
        }
    }

    @Test(arguments: [
        "", "api.example.com", "ftp://api.example.com", "http://api.example.com", "https://a@b/", "https://a/#f",
    ])
    func `Refuses a URL that is not that of an API`(url: String) {
        #expect(throws: AccountError.self) { try OAuthAuthority(api: url, client: OAuthClient(identifier: "tool")) }
    }

    @Test(arguments: [
        "http://app.example/c", "https://app.example", "https://app.example/", "https://app.example/a/../b", "x",
    ])
    func `Refuses an address that cannot be that of client metadata`(url: String) {
        #expect(throws: AccountError.self) {
            try OAuthAuthority(api: "https://api.example.com", client: OAuthClient(metadataURL: url))
        }
    }
}
