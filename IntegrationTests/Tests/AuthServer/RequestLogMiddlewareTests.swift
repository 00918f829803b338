import Logging
import Testing

@testable import auth_server

@Suite("Request log")
struct RequestLogMiddlewareTests {
    @Test("Neither the log nor /control/log contains passwords, tokens or codes")
    func keepsSecrets() async throws {
        let test = try TestServer()
        try await test.run { api in
            let tokens = try await api.signIn()
            _ = try await api.userInfo(tokens.access)
            let refreshed = try await api.refresh(tokens.refresh)
            _ = try await api.refresh(tokens.refresh)
            _ = try await api.form("/oauth/revoke", ["token": tokens.access])
            _ = try await api.get("/oauth/userinfo?access_token=\(tokens.access)")
            _ = try await api.form("/oauth/token", ["grant_type": tokens.refresh])
            _ = try await api.form("/oauth/token", ["grant_type": "password", "password": "%", "password": "hunter3"])
            let device = try await api.form("/oauth/device_authorization", [:])
            _ = try await api.get("/device?user_code=\(try device.string("user_code"))")
            _ = try await api.post("/login", json: #"{"username":"bob","password":"hunter2 but longer"}"#)
            _ = try await api.post("/login", json: #"{"username":"bob","password":hunter3}"#)

            let secrets = [
                API.alicePassword, "hunter", "staple", tokens.access, tokens.refresh,
                try refreshed.string("access_token"), try refreshed.string("refresh_token"),
                try device.string("user_code"), try device.string("device_code"),
            ]
            let log = try await api.get("/control/log").body
            #expect(log.contains(#""grantType":"refresh_token""#))
            #expect(log.contains(#""grantType":"other""#))
            #expect(test.logText.contains("POST /oauth/token refresh_token 400"))
            for secret in secrets {
                #expect(!log.contains(secret))
                #expect(!test.logText.contains(secret))
            }
        }
    }

    @Test("The request log drops the oldest entries but still counts them")
    func isBounded() {
        var log = RequestLog()
        var last = 0
        for _ in 0..<10_001 {
            last = log.add(RequestLog.Entry(method: "GET", path: "/x", grantType: nil))
        }
        log.setStatus(200, ofRequest: last)
        log.setStatus(500, ofRequest: 0)
        #expect(log.requests.count == 10_000)
        #expect(log.requests.last?.status == 200)
        #expect(log.requests.first?.status == nil)
        #expect(log.counts["/x"] == 10_001)
    }

    @Test("A late response does not change a cleared request log")
    func ignoresOldResponses() {
        var log = RequestLog()
        let old = log.add(RequestLog.Entry(method: "GET", path: "/old", grantType: nil))
        log.clear()
        let new = log.add(RequestLog.Entry(method: "GET", path: "/new", grantType: nil))
        log.setStatus(500, ofRequest: old)
        #expect(log.requests.map(\.status) == [nil])
        log.setStatus(200, ofRequest: new)
        #expect(log.requests.map(\.status) == [200])
    }
}
