import Testing

@testable import auth_server

/// The control requests take effect, and the server counts each request. Otherwise the tests that use them would pass
/// without any effect.
@Suite struct ControlTests {
    @Test func `Expires access tokens and ends the sessions of one user or all users`() async throws {
        try await TestServer().run { api in
            let (alice, bob) = (try await api.signIn(), try await api.signIn(as: "bob"))
            #expect(try await api.post("/control/expire").json == ["expired": 2])
            #expect(try await api.userInfo(alice.access).error == "invalid_token")
            let refreshed = try await api.refresh(alice.refresh)
            #expect(try await api.userInfo(try refreshed.string("access_token")).status == 200)

            #expect(try await api.post("/control/revoke", json: #"{"user":"alice"}"#).json == ["revoked": 1])
            #expect(try await api.userInfo(try refreshed.string("access_token")).error == "invalid_token")
            #expect(try await api.refresh(try refreshed.string("refresh_token")).error == "invalid_grant")
            #expect(try await api.post("/control/revoke").json == ["revoked": 1])
            #expect(try await api.refresh(bob.refresh).error == "invalid_grant")
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test func `Moves the clock for the expiry of tokens and the date of responses`() async throws {
        try await TestServer().listen { api, port in
            let tokens = try await api.signIn()
            for (offset, status, time) in [(3599, 200, "08:59:59"), (3600, 401, "09:00:00"), (0, 200, "08:00:00")] {
                let moved = try await api.post("/control/clock", json: #"{"offsetSeconds":\#(offset)}"#)
                #expect(moved.json == ["offsetSeconds": .integer(offset)])
                #expect(try await api.userInfo(tokens.access).status == status)
                let response = try await RawConnection.get(port: port, "/device")
                #expect(response.contains("\r\nDate: Fri, 15 Jan 2027 \(time) GMT\r\n"))
            }
        }
    }

    @Test func `Logs and counts each request without secrets`() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            _ = try await api.userInfo(nil)
            _ = try await api.refresh(tokens.refresh)
            _ = try await api.get("/nowhere?access_token=\(tokens.access)")
            let log = try await api.get("/control/log")
            func token(_ grantType: JSONValue) -> JSONValue {
                [
                    "method": "POST", "path": "/oauth/token", "grantType": grantType, "status": 200,
                    "clientID": "account-cli",
                ]
            }
            #expect(
                log.json == [
                    "requests": [
                        token("password"), ["method": "GET", "path": "/oauth/userinfo", "status": 401],
                        token("refresh_token"), ["method": "GET", "path": "/nowhere", "status": 404],
                    ],
                    "counts": [
                        "/oauth/token": 2, "/oauth/userinfo": 1, "/nowhere": 1,
                        "refreshes": 1, "rotations": 1, "reuseAlarms": 0,
                    ],
                ]
            )
            #expect(try await api.delete("/control/log").json == [:])
            let empty: JSONObject = ["requests": [], "counts": ["refreshes": 0, "rotations": 0, "reuseAlarms": 0]]
            #expect(try await api.get("/control/log").json == empty)
        }
    }

    @Test(arguments: [true, false])
    func `Lists exactly the valid tokens`(endsSignIn: Bool) async throws {
        var settings = ServerSettings()
        settings.revocationEndsSignIn = endsSignIn
        settings.rotatesAccessTokens = !endsSignIn
        try await TestServer(settings: settings).run { api in
            func kinds() async throws -> [JSONValue?] {
                guard case .array(let tokens) = try await api.get("/control/tokens?user=alice").json["tokens"] else {
                    return [nil]
                }
                return tokens.map { $0["kind"] }
            }
            let afterRefresh: [JSONValue?] = endsSignIn ? ["access", "access", "refresh"] : ["access", "refresh"]
            let afterRevocation: [JSONValue?] = endsSignIn ? [] : ["access"]
            let tokens = try await api.signIn()
            #expect(try await kinds() == ["access", "refresh"])
            let newer = try await api.refresh(tokens.refresh)
            #expect(try await kinds() == afterRefresh)
            _ = try await api.form("/oauth/revoke", ["token": try newer.string("refresh_token")])
            #expect(try await kinds() == afterRevocation)
            _ = try await api.post("/control/expire")
            #expect(try await kinds() == [])
        }
    }

    @Test(
        arguments: [
            ("faults", #"{"faults":[{"path":"/x","statsu":503}]}"#, "faults.0.statsu: unknown member"),
            ("faults", #"{"faults":[{"status":503}]}"#, "faults.0: path is missing"),
            ("clock", #"{"offset":3}"#, "unknown member offset"),
            ("revoke", #"{"user":"mallory"}"#, "there is no such user"),
            ("token-response", #"{"remove":["x"]}"#, "remove: unknown member"),
            ("gists-seed", #"{"user":"alice","number":1}"#, "unknown member number"),
        ])
    func `Rejects an unknown member or value`(path: String, body: String, message: String) async throws {
        try await TestServer().run { api in
            let response = try await api.post("/control/" + path, json: body)
            #expect(response.status == 400)
            #expect(response.json == ["error": "bad_control", "message": .string(message)])
        }
    }
}
