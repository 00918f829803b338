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
    private static func respond(
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

    private static func registrations(_ storage: InMemoryArchiveStorage = .init()) -> ClientRegistrations {
        ClientRegistrations(
            storage: storage, key: InMemoryKey(), appIdentifier: "test", clock: FixedClock())
    }

    private static func authority(
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
                let identified = try Self.authority(server, .identifier("notes"))
                #expect(try await !identified.requiresClientID())
                let described = try Self.authority(server, .metadataURL("https://notes.example/client"))
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
                api: server.address + "/mcp", client: .identifier("tool"), clock: FixedClock())
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
        (401, "{}", "--client-id"), (403, "{}", "--client-id"),
        (201, "{}", "no valid client ID"), (201, #"{"client_id":""}"#, "no valid client ID"),
        (201, #"{"client_id":null}"#, "no valid client ID"), (201, #"{"client_id":1.5}"#, "no valid client ID"),
        (201, #"{"client_id":"ä"}"#, "no valid client ID"),
        (201, #"{"client_id":"a","redirect_uris":["http://127.0.0.1:1/callback"]}"#, "changed the redirect URI"),
    ])
    func `Stores no registration that cannot be used, and says why`(
        status: Int, body: String, text: String
    ) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            request.target == "/register" ? .json(body, status: status) : Self.respond(to: request, at: address)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            let failure = await asyncFailure { try await authority.beginDeviceSignIn() }
            #expect("\(try #require(failure))".contains(text))
            #expect(!server.targets.contains("/device"))
            #expect(try await registrations.registration(at: server.address) == nil)
        }
    }

    @Test(
        arguments: [
            (#""0""#, nil), ("0.0", nil), ("-1", nil), ("null", nil), (#""never""#, nil), ("1800003600000000", nil),
            (#""1800003600""#, 1_800_003_600), (#""2027-01-15T09:00:00Z""#, 1_800_003_600),
            ("1800003600.0", 1_800_003_600),
        ] as [(String, Double?)])
    func `Reads a registration with values of other types`(expiry: String, date: Double?) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            guard request.target == "/register" else { return Self.respond(to: request, at: address) }
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"\]/)?.output.1.replacing("\\/", with: "/")
            return .json(
                #"{"client_id":4711,"client_secret":815,"redirect_uris":"\#(uri ?? "")","#
                    + #""client_secret_expires_at":\#(expiry)}"#, status: 201)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            _ = try await authority.beginDeviceSignIn()
            let registration = try #require(try await registrations.registration(at: server.address))
            #expect(registration.clientID == "4711" && registration.clientSecret == Secret("815"))
            #expect(registration.secretExpiresAt == date.map { Date(timeIntervalSince1970: $0) })
        }
    }

    @Test(arguments: ["https://evil.example/register/1", "http://127.0.0.1:1/register/1"])
    func `Stores no management address at another server`(address: String) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run {
            $0.target == "/register"
                ? .json(
                    #"{"client_id":"registered","registration_client_uri":"\#(address)","#
                        + #""registration_access_token":"\#(canary)"}"#, status: 201)
                : Self.respond(to: $0, at: $1)
        } _: { server in
            _ = try await Self.authority(server, .registration(in: registrations, name: "Notes")).beginDeviceSignIn()
            let stored = try #require(try await registrations.registration(at: server.address))
            #expect(stored.management == nil)
        }
    }

    @Test func `Registers again once if the service rejects the registration`() async throws {
        let rejections = Mutex(1)
        try await LoopbackServer.run { request, address in
            if request.target == "/device", rejections.withLock({ $0 > 0 }) {
                rejections.withLock { $0 -= 1 }
                return .json(#"{"error":"invalid_client"}"#, status: 401)
            }
            return Self.respond(to: request, at: address)
        } _: { server in
            _ = try await Self.authority(server).beginDeviceSignIn()
            #expect(server.targets.filter { $0 == "/register" }.count == 2)
            #expect(server.targets.filter { $0 == "/device" }.count == 2)
        }
    }

    /// Another process has registered the app again before the second sign-in.
    @Test(arguments: [true, false])
    func `Sign-ins at the same time keep their own clients`(usesBrowser: Bool) async throws {
        let storage = InMemoryArchiveStorage()
        let registrations = Self.registrations(storage)
        let count = Mutex(0)
        try await LoopbackServer.run { request, address in
            guard request.target == "/register" else { return Self.respond(to: request, at: address) }
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return .json(#"{"client_id":"client-\#(number)"}"#, status: 201)
        } _: { server in
            let authority = try Self.authority(server, .registration(in: registrations, name: "Notes"))
            func forget() async throws {
                let known = try #require(try await registrations.registration(at: server.address))
                try await registrations.remove(known)
            }
            if usesBrowser {
                let service = try await authority.service()
                let first = try await service.signIns.beginBrowserSignIn(deliveryTime: .zero)
                try await forget()
                let second = try await service.signIns.beginBrowserSignIn(deliveryTime: .zero)
                for signIn in [first, second] {
                    let visit = try BrowserVisit(signIn.url)
                    let callback = try #require(visit.query["redirect_uri"])
                    let state = try #require(visit.query["state"])
                    try signIn.receive("\(callback)?code=c&state=\(state)")
                    try await signIn.waitForResponse()
                }
                #expect(try await first.credentials().clientID == "client-1")
                #expect(try await second.credentials().clientID == "client-2")
                for signIn in [first, second] { await signIn.finish(with: .failure(CancellationError())) }
            } else {
                let first = try await authority.beginDeviceSignIn()
                try await forget()
                let second = try await authority.beginDeviceSignIn()
                #expect(try await authority.pollDeviceSignIn(first).clientID == "client-1")
                #expect(try await authority.pollDeviceSignIn(second).clientID == "client-2")
            }
        }
    }

    @Test(arguments: [200, 403, 405, 503])
    func `Updates a registration with a management token for more scopes`(status: Int) async throws {
        let registrations = Self.registrations()
        try await LoopbackServer.run { request, address in
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"/)?.output.1.replacing("\\/", with: "/")
            let members = #""redirect_uris":["\#(uri ?? "")"],"token_endpoint_auth_method":"none""#
            switch request.target {
            case "/register":
                return .json(
                    #"{"client_id":"registered",\#(members),"registration_client_uri":"\#(address)/register/1","#
                        + #""registration_access_token":"\#(canary)"}"#, status: 201)
            case "/register/1" where status == 200:
                return .json(#"{"client_id":"registered",\#(members),"registration_access_token":"new"}"#)
            case "/register/1": return .response(status)
            default: return Self.respond(to: request, at: address)
            }
        } _: { server in
            let client = OAuthClient.registration(in: registrations, name: "Notes")
            _ = try await Self.authority(server, client, scopes: ["a"]).beginDeviceSignIn()
            _ = try await Self.authority(server, client, scopes: ["b"]).beginDeviceSignIn()
            let update = try #require(server.requests.first { $0.target == "/register/1" })
            #expect(update.method == "PUT")
            #expect(update.headers["authorization"] == "Bearer \(canary)")
            #expect(update.body.contains(#""client_id":"registered""#) && update.body.contains(#""scope":"a b""#))
            #expect(server.targets.filter { $0 == "/register" }.count == (status == 200 ? 1 : 2))
            let stored = try #require(try await registrations.registration(at: server.address))
            #expect(stored.scopes == (status == 200 ? ["a", "b"] : ["b"]))
            // The response to the update contains no address, so the old one stays valid.
            #expect(stored.management?.url == server.address + "/register/1")
            #expect(stored.management?.token == Secret(status == 200 ? "new" : canary))
        }
    }

    @Test func `Does not log a management token that the service repeats`() async throws {
        let registrations = Self.registrations()
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        try await LoopbackServer.run { request, address in
            let uri = request.body.firstMatch(of: /"redirect_uris":\["([^"]*)"/)?.output.1.replacing("\\/", with: "/")
            switch request.target {
            case "/register":
                return .json(
                    #"{"client_id":"registered","redirect_uris":["\#(uri ?? "")"],"token_endpoint_auth_method":"none","#
                        + #""registration_client_uri":"\#(address)/register/1","registration_access_token":"\#(canary)"}"#,
                    status: 201)
            case "/register/1":
                return .json(
                    #"{"error":"invalid_token","error_description":"Invalid token: \#(canary)"}"#, status: 401)
            default: return Self.respond(to: request, at: address)
            }
        } _: { server in
            for scope in ["a", "b"] {
                let authority = try OAuthAuthority(
                    api: server.address + "/mcp", client: .registration(in: registrations, name: "Notes"),
                    scopes: [scope], timeout: .seconds(20), clock: FixedClock(), logger: logger)
                _ = try await authority.beginDeviceSignIn()
            }
            #expect(server.targets.contains("/register/1"))
            #expect(!"\(handler.entries)".contains(canary), "\(handler.entries)")
        }
    }

    @Test func `Keeps the session if the service no longer knows the registration`() async throws {
        let storage = InMemoryArchiveStorage()
        let client = OAuthClient.registration(in: Self.registrations(storage), name: "Notes")
        let isForgotten = Mutex(false)
        try await LoopbackServer.run { request, address in
            request.target == "/token" && isForgotten.withLock(\.self)
                ? .json(#"{"error":"invalid_client"}"#, status: 401) : Self.respond(to: request, at: address)
        } _: { server in
            let authority = try Self.authority(server, client)
            let device = try await authority.beginDeviceSignIn()
            let account = try await authority.account(with: try await authority.pollDeviceSignIn(device))
            isForgotten.withLock { $0 = true }
            let failure = await asyncFailure { try await Self.authority(server, client).refresh(account) }
            guard case .oauthError("unauthorized_client", let description)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(description?.contains("no longer knows the registration") == true)
            // Without a valid token, the session tells the user to sign in again.
            #expect(failure.map(SessionDecision.refusesRenewal) == true)
            #expect(server.targets.filter { $0 == "/register" }.count == 1)
        }
    }

    @Test(arguments: [
        "", "api.example.com", "ftp://api.example.com", "http://api.example.com", "https://a@b/", "https://a/#f",
    ])
    func `Refuses a URL that is not that of an API`(url: String) {
        #expect(throws: AccountError.self) { try OAuthAuthority(api: url, client: .identifier("tool")) }
    }

    @Test(arguments: [
        "http://app.example/c", "https://app.example", "https://app.example/", "https://app.example/a/../b", "x",
    ])
    func `Refuses an address that cannot be that of client metadata`(url: String) {
        #expect(throws: AccountError.self) {
            try OAuthAuthority(api: "https://api.example.com", client: .metadataURL(url))
        }
    }
}
