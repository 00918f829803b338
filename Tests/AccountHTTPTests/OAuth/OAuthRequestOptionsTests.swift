import AccountSupport
import AccountKit
import Testing

@testable import AccountHTTP

/// The options of a sign-in in addition to scopes.
struct OAuthRequestOptionsTests {
    private static let options = OAuthRequestOptions(
        audience: "https://api.example", resources: ["https://a.example/", "urn:b"],
        parameters: ["prompt": "login", "login_hint": "jane doe"])

    private func authority(_ address: String, _ options: OAuthRequestOptions = options) throws -> OAuthAuthority {
        try OAuthAuthority(
            issuer: address, clientID: "tool", scopes: ["openid"], options: options,
            endpoints: OAuthEndpoints(
                token: "\(address)/token", userInfo: "\(address)/userinfo", deviceAuthorization: "\(address)/device",
                authorization: "\(address)/authorize"),
            clock: FixedClock())
    }

    private static let begin = "audience=https%3A%2F%2Fapi.example&resource=https%3A%2F%2Fa.example%2F&resource=urn%3Ab"
    private static let resources = "&resource=https%3A%2F%2Fa.example%2F&resource=urn%3Ab&client_id=tool"
    private static let parameters = "&login_hint=jane+doe&prompt=login"

    @Test func `Sends each OAuth request with the options for that request`() async throws {
        try await LoopbackServer.run { request, _ in
            switch request.target {
            case "/token": .json(#"{"access_token":"a"}"#)
            case "/device":
                .json(#"{"device_code":"d","user_code":"A","verification_uri":"https://example.com","expires_in":60}"#)
            default: .json(#"{"sub":"1"}"#)
            }
        } _: { server in
            let authority = try authority(server.address)
            let page = try await authority.beginBrowserSignIn().url
            #expect(page.hasSuffix("&code_challenge_method=S256&\(Self.begin)\(Self.parameters)"))

            let authorization = try await authority.beginDeviceSignIn()
            _ = try await authority.pollDeviceSignIn(authorization)
            _ = try await authority.refresh(account(at: server.address, refreshToken: "r"))
            _ = try await authority.signIn(username: "j", password: Secret("p"))
            let bodies = server.requests.filter { $0.method == "POST" }.map(\.body)
            #expect(bodies.count == 4)
            #expect(bodies[0] == "scope=openid&\(Self.begin)\(Self.parameters)&client_id=tool")
            #expect(bodies[1].hasSuffix("&device_code=d\(Self.resources)"))
            #expect(bodies[2] == "grant_type=refresh_token&refresh_token=r\(Self.resources)")
            #expect(bodies[3].hasSuffix("&scope=openid&audience=https%3A%2F%2Fapi.example\(Self.resources)"))
        }
    }

    @Test func `Adds no resources to the form of a code exchange`() {
        let request = AuthorizationRequest(
            clientID: "tool", scopes: [], port: 1, state: "s", options: Self.options)
        #expect(!String(decoding: request.form(with: Secret("c")).bytes, as: UTF8.self).contains("resource"))
        // The function that sends all token requests adds the resources. The previous test checks this.
    }

    @Test func `Prefers given request options to those of the service's entry`() throws {
        let request = AuthorizationRequest(
            clientID: "tool", scopes: [], port: 1, state: "s", options: Self.options,
            quirks: KnownService.google.quirks)
        let url = request.url(at: try ServiceURL("https://id.example/a"))
        #expect(url.contains("&access_type=offline"))
        #expect(!url.contains("prompt=consent"))
        #expect(url.hasSuffix(Self.parameters))
    }

    @Test(
        arguments: [
            ("response_type", nil), ("client_id", "client ID"), ("client_secret", "client secret"),
            ("redirect_uri", "redirect URI"), ("scope", "scopes"), ("State", nil), ("nonce", nil),
            ("code_challenge", nil),
            ("code_challenge_method", nil), ("code", nil), ("grant_type", nil), ("code_verifier", nil),
            ("resource", "resources"), ("audience", "audience"),
        ] as [(String, String?)])
    func `Refuses a reserved parameter and names the matching option`(name: String, option: String?) {
        let error = #expect(throws: AccountError.self) {
            try authority("https://id.example", OAuthRequestOptions(parameters: [name: "x"]))
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("\"\(name)\"") == true)
        if let option { #expect(error?.description.contains(option) == true) }
    }

    @Test(arguments: [
        OAuthRequestOptions(resources: ["https://a.example/#x"]), OAuthRequestOptions(resources: ["/relative"]),
        OAuthRequestOptions(resources: [""]), OAuthRequestOptions(resources: ["a b:c"]),
        OAuthRequestOptions(resources: ["urn:"]), OAuthRequestOptions(audience: ""),
        OAuthRequestOptions(audience: "a\nb"), OAuthRequestOptions(parameters: ["": "x"]),
        OAuthRequestOptions(parameters: ["a b": "x"]), OAuthRequestOptions(parameters: ["a": "x\u{1B}"]),
        OAuthRequestOptions(redirectURI: "https://127.0.0.1:8400/callback"),
        OAuthRequestOptions(redirectURI: "http://127.0.0.1/callback"),
        OAuthRequestOptions(redirectURI: "http://192.0.2.1:8400/callback"),
        OAuthRequestOptions(redirectURI: "http://127.0.0.1:8400/callback?x=1"),
        OAuthRequestOptions(redirectURI: "http://127.0.0.1:8400/callback#x"),
        OAuthRequestOptions(redirectURI: "myapp://callback"), OAuthRequestOptions(redirectURI: ""),
    ])
    func `Refuses request options with invalid values`(options: OAuthRequestOptions) {
        let error = #expect(throws: AccountError.self) { try authority("https://id.example", options) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: [
        OAuthRequestOptions(resources: ["https://a.example", "https://a.example/x?y=z", "urn:a:b"]),
        OAuthRequestOptions(redirectURI: "http://127.0.0.1:8400"),
        OAuthRequestOptions(redirectURI: "http://[::1]:8400/a/b"),
        OAuthRequestOptions(redirectURI: "http://localhost:8400/done"),
    ])
    func `Accepts valid request options`(options: OAuthRequestOptions) throws {
        #expect(try authority("https://id.example", options).settings.options == options)
    }
}
