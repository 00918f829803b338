import HTTPTypes
import Testing

@testable import auth_server

@Suite("Device flow")
struct DeviceRoutesTests {
    private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    private func poll(_ api: API, _ deviceCode: String) async throws -> API.Response {
        try await api.form("/oauth/token", ["grant_type": Self.grantType, "device_code": deviceCode])
    }

    private func decide(
        _ api: API,
        _ userCode: String,
        password: String = API.alicePassword,
        _ decision: String = "approve"
    ) async throws -> API.Response {
        try await api.form(
            "/device",
            ["user_code": userCode, "username": "alice", "password": password, "decision": decision],
            clientID: nil
        )
    }

    @Test("A device gets tokens only once, after the user approves")
    func approves() async throws {
        let test = try TestServer()
        try await test.run { api in
            let begun = try await api.form("/oauth/device_authorization", ["scope": "openid"])
            #expect(begun.status == 200)
            #expect(begun.headers[.cacheControl] == "no-store")
            #expect(begun.json["interval"] == 5)
            #expect(begun.json["expires_in"] == 600)
            #expect(begun.json["verification_uri"] == "http://localhost/device")
            let (deviceCode, userCode) = (try begun.string("device_code"), try begun.string("user_code"))
            #expect(begun.json["verification_uri_complete"] == .string("http://localhost/device?user_code=\(userCode)"))
            #expect(userCode.wholeMatch(of: /[B-Z]{4}-[B-Z]{4}/) != nil)

            #expect(try await poll(api, deviceCode).error == "authorization_pending")
            // Simulate a user who types the code in lower case and with a space.
            let typed = userCode.lowercased().replacing("-", with: " ")
            #expect(try await decide(api, typed).status == 200)
            test.clock.offset = 5
            let tokens = try await poll(api, deviceCode)
            #expect(tokens.status == 200)
            #expect(tokens.json["scope"] == "openid")
            #expect(try await api.userInfo(try tokens.string("access_token")).json["sub"] == "u-5f0c2a9b7d314e86")

            test.clock.offset = 10
            #expect(try await poll(api, deviceCode).error == "invalid_grant")
            #expect(try await decide(api, userCode).status == 400)
        }
    }

    @Test("Each poll that is too early increases a device's polling interval")
    func slowsDown() async throws {
        let test = try TestServer()
        try await test.run { api in
            let begun = try await api.form("/oauth/device_authorization", [:])
            let deviceCode = try begun.string("device_code")
            #expect(try await poll(api, deviceCode).error == "authorization_pending")
            test.clock.offset = 4
            #expect(try await poll(api, deviceCode).error == "slow_down")
            test.clock.offset = 4 + 6
            #expect(try await poll(api, deviceCode).error == "slow_down")
            test.clock.offset = 4 + 6 + 15
            #expect(try await poll(api, deviceCode).error == "authorization_pending")
        }
    }

    @Test("A device poll returns access_denied if the user denies the request")
    func denies() async throws {
        try await TestServer().run { api in
            let begun = try await api.form("/oauth/device_authorization", [:])
            let page = try await decide(api, try begun.string("user_code"), "deny")
            #expect(page.status == 200)
            #expect(page.body.contains("refused"))
            #expect(try await poll(api, try begun.string("device_code")).error == "access_denied")
        }
    }

    @Test("A device code expires for both the device and the user")
    func expires() async throws {
        let test = try TestServer()
        try await test.run { api in
            let begun = try await api.form("/oauth/device_authorization", [:])
            test.clock.offset = 600
            #expect(try await decide(api, try begun.string("user_code")).status == 400)
            let response = try await poll(api, try begun.string("device_code"))
            #expect(response.status == 400)
            #expect(response.error == "expired_token")
        }
    }

    @Test("A wrong password on the device page leaves the request pending")
    func refusesWrongPasswords() async throws {
        try await TestServer().run { api in
            let begun = try await api.form("/oauth/device_authorization", [:])
            let page = try await decide(api, try begun.string("user_code"), password: "wrong")
            #expect(page.status == 400)
            #expect(page.body.contains("is wrong"))
            #expect(!page.body.contains("\"wrong\""))
            #expect(try await poll(api, try begun.string("device_code")).error == "authorization_pending")
        }
    }

    @Test("The server rejects an unknown device code or client")
    func refusesStrangers() async throws {
        try await TestServer().run { api in
            #expect(try await poll(api, "dc_made_up").error == "invalid_grant")
            let stranger = try await api.form("/oauth/device_authorization", [:], clientID: "someone-else")
            #expect(stranger.status == 401)
        }
    }

    @Test("The device page escapes the code in its URL and allows no scripts")
    func page() async throws {
        try await TestServer().run { api in
            let page = try await api.get("/device?user_code=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
            #expect(page.status == 200)
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
            #expect(!page.body.contains("<script"))
            #expect(page.body.contains("&quot;&gt;&lt;script&gt;"))
        }
    }
}
