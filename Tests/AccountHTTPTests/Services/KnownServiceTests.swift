import AccountKit
import AccountSupport
import FoundationEssentials
import Testing

@testable import AccountHTTP

@Suite("Known services")
struct KnownServiceTests {
    /// An authority for a service that behaves like the known one.
    func authority(
        _ service: KnownService, _ issuer: String, clientID: String? = "tool", secret: Secret? = nil
    ) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: issuer, clientID: clientID, clientSecret: secret, service: service, timeout: .seconds(20),
            clock: FixedClock())
    }

    static let device = DeviceAuthorization(
        deviceCode: Secret("device-code"), userCode: "X", verificationURI: "https://example.com", lifetime: .seconds(60)
    )

    // MARK: Recognizing a service

    @Test("Lists the URLs where other programs use a known service's token")
    func tokenURLs() {
        #expect(
            KnownService.github.tokenURLs(at: "https://github.com")
                == ["https://github.com", "https://gist.github.com", "https://ghcr.io"])
        #expect(KnownService.github.tokenURLs(at: "https://ghe.example.com") == ["https://ghe.example.com"])
        #expect(
            KnownService.gitlab.tokenURLs(at: "https://gitlab.com/")
                == ["https://gitlab.com", "https://registry.gitlab.com"])
        #expect(KnownService.gitlab.tokenURLs(at: "https://example.com:8443/git") == ["https://example.com:8443/git"])
        #expect(KnownService.google.tokenURLs(at: "https://accounts.google.com") == [])
        #expect(KnownService.google.tokenURLs(at: "https://google.example.com") == [])
        #expect(KnownService.github.tokenURLs(at: "github.com") == [])
    }

    /// Returns a URL of a form.
    static func example(_ form: String) -> String {
        ["HOST", "TENANT", "LOCATION", "ORG", "POOL", "DOMAIN", "PROJECT", "REALM"].reduce(form) {
            $0.replacing($1, with: $1.lowercased())
        }
        .replacing("REGION", with: "eu-west-1")
    }

    @Test(
        arguments: [
            ("https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0", "entra"),
            ("https://login.microsoftonline.us/contoso.example/v2.0", "entra"),
            ("https://login.microsoftonline.com/contoso", nil), ("https://login.microsoftonline.com/a/b/v2.0", nil),
            ("https://tenant.eu.auth0.com/", "auth0"), ("https://auth0.com", nil), ("https://a.b.c.auth0.com", nil),
            ("https://dev-1.okta.com/oauth2/default", "okta"), ("https://okta.com", nil),
            ("https://okta.com.example", nil), ("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_a", "cognito"),
            ("https://cognito-idp.eu-west-1.amazonaws.com", nil), ("https://cognito-idp.s3.amazonaws.com/a", nil),
            ("https://abc.supabase.co/auth/v1", "supabase"),
            ("https://abc.supabase.co", nil), ("https://id.example:8443/realms/main", "keycloak"),
            ("https://id.example/auth/realms/main", "keycloak"), ("https://id.example/x/realms/main", nil),
            ("http://localhost/realms/main", nil), ("https://codeberg.org", "gitea"),
        ] as [(String, String?)])
    func `Recognizes an issuer by the form of its host and path`(issuer: String, name: String?) throws {
        #expect(try KnownService.at(issuer)?.name == name)
    }

    @Test func `Lets the metadata of an issuer name only the servers of its entry`() throws {
        let cognito = KnownService.cognito
        #expect(cognito.hasEndpoints(on: try ServiceURL("https://shop.auth.eu-west-1.amazoncognito.com")))
        #expect(!cognito.hasEndpoints(on: try ServiceURL("https://shop.auth.eu-west-1.amazoncognito.com.example")))
        #expect(!cognito.hasEndpoints(on: try ServiceURL("https://evil.example")))
        #expect(!KnownService.keycloak.hasEndpoints(on: try ServiceURL("https://evil.example")))
    }

    @Test func `Uses the fixed redirect URI of a service that compares the port`() throws {
        func options(
            at issuer: String, _ options: OAuthRequestOptions = OAuthRequestOptions()
        ) throws -> OAuthRequestOptions? {
            try OAuthAuthority(issuer: issuer, clientID: "tool", options: options).resolvedService?.connection.options
        }
        #expect(try options(at: "https://discord.com")?.redirectURI == "http://127.0.0.1:8400/callback")
        let own = OAuthRequestOptions(redirectURI: "http://127.0.0.1:9000/callback")
        #expect(try options(at: "https://discord.com", own)?.redirectURI == own.redirectURI)
        #expect(try #require(try options(at: "https://gitlab.com")).redirectURI == nil)
        #expect(try options(at: "https://bsky.social")?.bindsTokens == true)
    }

    @Test("Finds each known service by its unique name and its issuer")
    func entries() throws {
        let names = KnownService.all.flatMap { [$0.name] + $0.otherNames }
        #expect(Set(names).count == names.count)
        for service in KnownService.all {
            for name in [service.name.uppercased()] + service.otherNames {
                #expect(KnownService.named(name) == service)
            }
            for form in [service.issuer] + service.issuerForms {
                let issuer = Self.example(form)
                let found = try #require(try OAuthAuthority(issuer: issuer, clientID: "tool").resolvedService)
                #expect(found.connection.known == service, "\(form)")
                #expect(found.connection.name == issuer)
                #expect(found.scopes.scopes == service.scopes)
            }
            #expect(service.hasDefaultIssuer == (Self.example(service.issuer) == service.issuer))
            for page in [service.registrationPage, service.documentation] + service.quirks.errors.map(\.source) {
                #expect(page.hasPrefix("https://"))
            }
        }
        #expect(KnownService.named("nobody") == nil)
        // Earlier versions stored this name.
        #expect(KnownService.named("microsoft") == .entra)
    }

    @Test("Lists only valid URLs for known services and their other hosts")
    func urls() throws {
        let named = try Issuer("https://github.com/login/oauth")
        #expect(
            KnownService.github.url(.token, at: named)?.description == "https://github.com/login/oauth/access_token")
        let (home, elsewhere) = (try Issuer("https://github.com"), try Issuer("https://git.example"))
        for service in KnownService.all {
            for endpoints in [service.endpoints, service.endpointsElsewhere].compactMap(\.self) {
                for text in endpoints.values {
                    #expect(text.hasPrefix("/") || (try? ServiceURL(text)) != nil, "\(text)")
                }
            }
            for text in service.origins.map({ Self.example($0) }) {
                #expect(try ServiceURL(origin: text).description == text)
            }
        }
        #expect(KnownService.github.url(.userInfo, at: home)?.description == "https://api.github.com/user")
        #expect(KnownService.github.url(.userInfo, at: elsewhere)?.description == "https://git.example/api/v3/user")
    }

    @Test("Supports per-grant revocation only for services whose entry allows it")
    func singleGrants() throws {
        #expect(try OAuthAuthority(issuer: "https://gitlab.com", clientID: "tool").supportsPerGrantRevocation)
        #expect(try !OAuthAuthority(issuer: "https://accounts.google.com", clientID: "tool").supportsPerGrantRevocation)
        #expect(try !OAuthAuthority(issuer: "https://login.example", clientID: "tool").supportsPerGrantRevocation)
    }

    @Test(
        "Does not recognize other hosts as a known service",
        arguments: [
            "https://github.com.example", "https://gitlab.example", "https://github.com:8443", "http://localhost",
        ])
    func otherHost(_ issuer: String) throws {
        let found = try #require(try OAuthAuthority(issuer: issuer, clientID: "tool").resolvedService)
        #expect(found.connection.known == nil)
        #expect(found.scopes.scopes == ["openid", "profile", "email"])
    }

    @Test("Prefers given scopes to the scopes of the service's entry")
    func scopes() throws {
        for scopes in [["repo"], []] {
            let authority = try OAuthAuthority(issuer: "https://github.com", clientID: "tool", scopes: scopes)
            #expect(authority.resolvedService?.scopes.scopes == scopes)
        }
    }

    // MARK: GitLab

    @Test("Uses GitLab's device endpoint if the discovery document omits it", arguments: [true, false])
    func gitLabDevice(_ isNamed: Bool) async throws {
        try await LoopbackServer.run { _, address in
            let named = isNamed ? #","device_authorization_endpoint":"\#(address)/named""# : ""
            return .json(#"{"issuer":"\#(address)","token_endpoint":"\#(address)/oauth/token"\#(named)}"#)
        } _: { server in
            let endpoints = try await authority(.gitlab, server.address).endpoints()
            #expect(
                endpoints[.deviceAuthorization] == server.address + (isNamed ? "/named" : "/oauth/authorize_device"))
            #expect(endpoints[.token] == server.address + "/oauth/token")
        }
    }

    // MARK: Google

    @Test(
        "Treats status 428 as a pending authorization only at Google",
        arguments: [(.google, .oauthError("authorization_pending")), (nil, .refused(status: 428))]
            as [(KnownService?, AuthorityError)])
    func pendingStatus(_ service: KnownService?, _ failure: AuthorityError) async throws {
        try await LoopbackServer.run { _, _ in
            .json(#"{"error":"authorization_pending"}"#, status: 428)
        } _: { server in
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", service: service, endpoints: .all(at: server.address))
            #expect(kind(await asyncFailure { try await authority.pollDeviceSignIn(Self.device) }) == failure)
        }
    }

    @Test("Sends Google's client secret only with its own client ID")
    func secretOfOther() async throws {
        try await LoopbackServer.run { _, address in
            .json(#"{"issuer":"\#(address)","token_endpoint":"\#(address)/token"}"#)
        } _: { server in
            let authority = try authority(.google, server.address, clientID: "other", secret: Secret("theirs"))
            _ = await asyncFailure { try await authority.refresh(account(at: server.address, refreshToken: "r")) }
            #expect(server.requests.last?.body.contains("client_id=tool") == true)
            #expect(server.requests.last?.body.contains("theirs") == false)
        }
    }

    @Test func `Reads GitHub's forms if a proxy removed the field Accept`() throws {
        func response(_ body: String) -> ServiceResponse {
            ServiceResponse(200, ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"], body)
        }
        let codes = response(
            "device_code=d1&expires_in=899&interval=5&user_code=WDJB-MJHT"
                + "&verification_uri=https%3A%2F%2Fgithub.com%2Flogin%2Fdevice")
        let device = try ResponseParser(.deviceAuthorization, quirks: KnownService.github.quirks)
            .deviceAuthorization(in: codes)
        #expect(device.deviceCode == Secret("d1") && device.userCode == "WDJB-MJHT" && device.interval == .seconds(5))
        #expect(device.verificationURI == "https://github.com/login/device")
        let parser = ResponseParser(.token, quirks: KnownService.github.quirks)
        let pending = response("error=authorization_pending&error_description=a+%22b%22")
        #expect(
            failure { try parser.credentials(in: pending, for: "tool") }
                == .oauthError("authorization_pending", description: "a \"b\""))
        let tokens = response("access_token=gho_x&scope=read%3Auser%2Cuser%3Aemail&token_type=bearer")
        #expect(try parser.credentials(in: tokens, for: "tool").scopes == ["read:user", "user:email"])
        // Another service sends JSON only.
        let other = failure { try ResponseParser(.token).credentials(in: pending, for: "tool") }
        #expect(kind(other) == .unclear("…"))
    }

    // MARK: The meanings of errors

    @Test(
        arguments: [
            (.github, 200, #"{"error":"bad_refresh_token"}"#, "invalid_grant"),
            (.gitlab, 401, #"{"error":"invalid_grant"}"#, "invalid_grant"),
            (
                .gitea, 400, #"{"error":"unauthorized_client","error_description":"token was already used"}"#,
                ErrorMeaning.needsUser
            ),
            (
                .gitea, 400, #"{"error":"unauthorized_client","error_description":"unable to parse refresh token"}"#,
                "unauthorized_client"
            ),
            (.google, 400, #"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#, ErrorMeaning.needsUser),
            (.google, 400, #"{"error":"invalid_grant"}"#, "invalid_grant"),
            (.google, 401, #"{"error":"deleted_client"}"#, "invalid_client"),
            (.entra, 400, #"{"error":"invalid_grant","suberror":"basic_action"}"#, ErrorMeaning.needsUser),
            (.entra, 400, #"{"error":"invalid_grant","suberror":"bad_token"}"#, "invalid_grant"),
            (.entra, 400, #"{"error":"invalid_grant","claims":"{}"}"#, ErrorMeaning.needsUser),
            (.atlassian, 403, #"{"error":"invalid_grant"}"#, "invalid_grant"),
            (
                .atlassian, 403, #"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#,
                ErrorMeaning.needsUser
            ),
            (.slack, 200, #"{"ok":false,"error":"invalid_refresh_token"}"#, "invalid_grant"),
            (.slack, 200, #"{"ok":false,"error":"bad_client_secret"}"#, "invalid_client"),
            (.discord, 400, #"{"error":"invalid_request"}"#, "invalid_request"),
            // What keeps a session counts everywhere, and what ends it only at its service.
            (.okta, 400, #"{"error":"invalid_grant","suberror":"basic_action"}"#, ErrorMeaning.needsUser),
            (.okta, 400, #"{"error":"invalid_refresh_token"}"#, "invalid_refresh_token"),
        ] as [(KnownService, Int, String, String)])
    func `Reads the error of a refresh as the entry of the service says`(
        service: KnownService, status: Int, body: String, code: String
    ) throws {
        let response = ServiceResponse(status, ["Content-Type": "application/json"], body)
        let parser = ResponseParser(.token, quirks: service.quirks, isRefresh: true)
        let thrown = failure { try parser.credentials(in: response, for: "tool") }
        #expect(kind(thrown) == .oauthError(code))
        let ends = if case .clear? = thrown.map(SessionDecision.afterRefresh) { true } else { false }
        #expect(ends == (code == "invalid_grant"))
    }

    @Test(arguments: ["token_revoked", "account_inactive", "invalid_auth", "ratelimited"])
    func `Reads Slack's errors of user info with status 200`(code: String) {
        let response = ServiceResponse(200, ["Content-Type": "application/json"], #"{"ok":false,"error":"\#(code)"}"#)
        let parser = ResponseParser(.userInfo, quirks: KnownService.slack.quirks)
        let thrown = failure { try parser.identity(in: response) }
        // An address that Slack does not allow also gets `invalid_auth`.
        let isDead = ["token_revoked", "account_inactive"].contains(code)
        #expect((thrown == .unauthorized(error: "invalid_token")) == isDead)
        #expect(thrown != nil)
    }

    @Test func `Reads the request for slower polls with status 429`() {
        let parser = ResponseParser(.token, quirks: KnownService.auth0.quirks)
        for (body, expected) in [
            (#"{"error":"slow_down"}"#, AuthorityError.oauthError("slow_down")),
            (#"{"error":"too_many_requests"}"#, .unavailable(status: 429, retryAfter: nil)),
        ] {
            let response = ServiceResponse(429, ["Content-Type": "application/json"], body)
            let thrown = failure { try parser.credentials(in: response, for: "tool") }
            #expect(kind(thrown) == expected)
        }
    }

    @Test(
        arguments: [
            (429, ["X-Rate-Limit-Reset": "1800000030"], "{}", 30), (429, ["X-RateLimit-Reset": "7"], "{}", 7),
            (429, [:], #"{"message":"You are being rate limited.","retry_after":64.57}"#, 65),
            (429, ["Retry-After": "3"], #"{"retry_after":64}"#, 3), (429, [:], "{}", nil),
            (503, ["X-Rate-Limit-Reset": "30"], "{}", nil),
        ] as [(Int, KeyValuePairs<String, String>, String, Int?)])
    func `Reads the pause of a rate limit where Okta and Discord name it`(
        status: Int, fields: KeyValuePairs<String, String>, body: String, seconds: Int?
    ) {
        #expect(RetryAfter.duration(in: ServiceResponse(status, fields, body)) == seconds.map { .seconds($0) })
    }

    @Test(arguments: [KnownService.entra, .cognito, .gitlab])
    func `Accepts a service without a list of PKCE methods if its entry does`(service: KnownService) throws {
        let api = APIOrigin(url: try ServiceURL("https://api.example.com"))
        let thrown = failure { try api.checkChallengeMethods(in: ServiceDocument(), of: "x", service.quirks) }
        #expect((thrown == nil) == (service != .gitlab))
    }

    @Test(arguments: [["openid", "api://notes/.default"], ["openid", "offline_access"]])
    func `Identifies the user of a token for an API at Microsoft by the ID token`(scopes: [String]) throws {
        let authority = try OAuthAuthority(
            issuer: "https://login.microsoftonline.com/common/v2.0", clientID: "tool", scopes: scopes)
        let refusal = AuthorityError.unauthorized(error: "invalid_token")
        let users = try #require(authority.resolvedService).users
        #expect(users.needsNoUser(after: refusal) == scopes.contains("api://notes/.default"))
        let other = try OAuthAuthority(issuer: "https://gitlab.com", clientID: "tool", scopes: ["openid", "api"])
        #expect(try !#require(other.resolvedService).users.needsNoUser(after: refusal))
    }

    // MARK: Microsoft

    @Test("Redirects Microsoft sign-ins to localhost")
    func microsoftBrowser() async throws {
        try await LoopbackServer.run { _, address in
            .json(
                """
                {"issuer":"\(address)/{tenantid}/v2.0","token_endpoint":"\(address)/token",\
                "authorization_endpoint":"\(address)/authorize"}
                """)
        } _: { server in
            let authority = try authority(.entra, server.address + "/common/v2.0")
            let address = try await authority.beginBrowserSignIn().url
            #expect(address.contains("&redirect_uri=http%3A%2F%2Flocalhost%3A"))
            #expect(address.contains("offline_access"))
        }
    }

    @Test("Treats Microsoft's authorization_declined as access_denied")
    func microsoftDeclined() async throws {
        try await LoopbackServer.run { _, address in
            .json(#"{"error":"authorization_declined","error_codes":[70018]}"#, status: 400)
        } _: { server in
            let authority = try OAuthAuthority(
                issuer: server.address, clientID: "tool", service: .entra, endpoints: .all(at: server.address))
            let thrown = await asyncFailure { try await authority.pollDeviceSignIn(Self.device) }
            #expect(kind(thrown) == .oauthError("access_denied"))
        }
    }
}
