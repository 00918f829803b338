import AccountKit
import AccountTesting
import FoundationEssentials
import Testing

@testable import AccountHTTP

/// The requests and responses of a device sign-in. `DevicePollingTests` has the pauses between polls.
@Suite("Device sign-in")
struct DeviceSignInTests {
    private static func endpoints(at address: String) throws -> OAuthEndpoints {
        try OAuthEndpoints(
            token: "\(address)/token", userInfo: "\(address)/userinfo", deviceAuthorization: "\(address)/device")
    }

    private static let response = """
        {"device_code":"\(canary)","user_code":"WDJB-MJHT","verification_uri":"https://example.com/device",\
        "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT","expires_in":900,"interval":7}
        """

    @Test("Returns the device code that the service issued")
    func begin() async throws {
        try await LoopbackServer.run { _, _ in
            .json(Self.response)
        } _: { server in
            let authority = try OAuthAuthority.test(
                server.address, scopes: ["openid", "email"], endpoints: Self.endpoints(at: server.address))
            let authorization = try await authority.beginDeviceSignIn()
            #expect(authorization.userCode == "WDJB-MJHT")
            #expect(authorization.verificationURI == "https://example.com/device")
            #expect(authorization.verificationURIComplete == "https://example.com/device?user_code=WDJB-MJHT")
            #expect(authorization.lifetime == .seconds(900))
            #expect(authorization.interval == .seconds(7))
            #expect(authorization.deviceCode == Secret(canary))
            #expect(!String(reflecting: authorization).contains(canary))
            #expect(
                server.requests.map { "\($0.method) \($0.target) \($0.body)" } == [
                    "POST /device scope=openid+email&client_id=tool"
                ])
        }
    }

    @Test("Returns tokens from a device poll before a separate user request")
    func poll() async throws {
        try await LoopbackServer.run { request, _ in
            request.target == "/token"
                ? .json(#"{"access_token":"access","token_type":"Bearer","refresh_token":"refresh"}"#)
                : .json(#"{"sub":"7","preferred_username":"jane"}"#)
        } _: { server in
            let authority = try OAuthAuthority.test(
                server.address, endpoints: Self.endpoints(at: server.address))
            let credentials = try await authority.pollDeviceSignIn(
                DeviceAuthorization(
                    deviceCode: Secret("a b&c"), userCode: "X", verificationURI: "https://example.com",
                    lifetime: .seconds(60)))
            #expect(server.targets == ["/token"])
            let account = try await authority.account(with: credentials)
            #expect(server.targets == ["/token", "/userinfo"])
            #expect(account.username == "jane")
            #expect(account.credentials.refreshToken == Secret("refresh"))
            #expect(
                server.requests.first?.body
                    == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=a+b%26c"
                    + "&client_id=tool")
        }
    }

    @Test("Reports a service without a device endpoint")
    func missing() async throws {
        let authority = try OAuthAuthority.test(
            "https://login.example", endpoints: OAuthEndpoints(token: "https://login.example/token"))
        #expect(kind(await asyncFailure { try await authority.beginDeviceSignIn() }) == .misconfigured("…"))
    }

    @Test(
        "Rejects a device code that cannot be displayed or has no URL",
        arguments: [
            "{}",
            #"{"device_code":"d","user_code":"A\u001b[2J","verification_uri":"https://example.com"}"#,
            #"{"device_code":"d","user_code":"","verification_uri":"https://example.com"}"#,
            #"{"device_code":"","user_code":"A","verification_uri":"https://example.com"}"#,
            #"{"device_code":"d","user_code":"A","verification_uri":"javascript:alert(1)"}"#,
            #"{"device_code":"d","user_code":"A","verification_uri":"https://exa mple.com"}"#,
            #"{"device_code":"d","user_code":"A"}"#,
            #"{"device_code":7.5,"user_code":"A","verification_uri":"https://example.com"}"#,
        ])
    func impossible(body: String) {
        let response = ServiceResponse(200, [:], body)
        let thrown = #expect(throws: AuthorityError.self) {
            try ResponseParser(.deviceAuthorization).deviceAuthorization(in: response)
        }
        #expect(kind(thrown) == .unclear("…"))
    }

    @Test(
        "Clamps invalid lifetimes and intervals of a device code",
        arguments: [
            ("900", "7", 900, 7), ("-1", "-5", 1, 1), ("900", "0", 900, 1), ("999999999", "100000", 86_400, 300),
            ("null", "null", 600, 5),
            ("\"900\"", "1.5", 900, 2), ("\"1800\"", "\"5\"", 1800, 5), ("1800.9", "\" 7 \"", 1800, 7),
            ("\"1.8e3\"", "\"6.1\"", 1800, 7),
            ("\"soon\"", "true", 600, 5),
        ])
    func times(expiresIn: String, interval: String, lifetime: Int, pause: Int) throws {
        let body = """
            {"device_code":"d","user_code":"A","verification_uri":"https://example.com",\
            "expires_in":\(expiresIn),"interval":\(interval)}
            """
        let response = ServiceResponse(200, [:], body)
        let authorization = try ResponseParser(.deviceAuthorization).deviceAuthorization(in: response)
        #expect(authorization.lifetime == .seconds(lifetime))
        #expect(authorization.interval == .seconds(pause))
    }

    @Test func `Reads numbers for codes, and the older names of addresses`() throws {
        let body = """
            {"device_code":1234567890123456789012,"user_code":4711,"verification_url":"https://example.com",\
            "verification_url_complete":"https://example.com?c=4711"}
            """
        let authorization = try ResponseParser(.deviceAuthorization).deviceAuthorization(
            in: ServiceResponse(200, [:], "\u{FEFF}" + body))
        #expect(authorization.deviceCode == Secret("1234567890123456789012"))
        #expect(authorization.userCode == "4711")
        #expect(authorization.verificationURI == "https://example.com")
        #expect(authorization.verificationURIComplete == "https://example.com?c=4711")
    }
}
