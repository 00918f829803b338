import Testing

@testable import auth_server

@Suite("Control endpoints")
struct ControlRoutesTests {
    @Test("Expiring access tokens keeps the session")
    func expires() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            #expect(try await api.post("/control/expire").json == ["expired": 1])
            #expect(try await api.userInfo(tokens.access).error == "invalid_token")
            let refreshed = try await api.refresh(tokens.refresh)
            #expect(try await api.userInfo(try refreshed.string("access_token")).status == 200)
        }
    }

    @Test("The control endpoint ends the sessions of one user or of all users")
    func revokes() async throws {
        try await TestServer().run { api in
            let alice = try await api.signIn()
            let bob = try await api.form(
                "/oauth/token",
                ["grant_type": "password", "username": "bob", "password": "hunter2 but longer"]
            )
            #expect(try await api.post("/control/revoke", json: #"{"user":"alice"}"#).json == ["revoked": 1])
            #expect(try await api.userInfo(alice.access).error == "invalid_token")
            #expect(try await api.refresh(alice.refresh).error == "invalid_grant")
            #expect(try await api.userInfo(try bob.string("access_token")).status == 200)

            #expect(try await api.post("/control/revoke").json == ["revoked": 1])
            #expect(try await api.userInfo(try bob.string("access_token")).error == "invalid_token")
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test("Moving the clock affects the validity of tokens")
    func movesTheClock() async throws {
        let test = try TestServer()
        try await test.run { api in
            let tokens = try await api.signIn()
            let moved = try await api.post("/control/clock", json: #"{"offsetSeconds":3601}"#)
            #expect(moved.json == ["offsetSeconds": 3601])
            #expect(try await api.userInfo(tokens.access).status == 401)
            _ = try await api.post("/control/clock", json: #"{"offsetSeconds":0}"#)
            #expect(try await api.userInfo(tokens.access).status == 200)
        }
    }

    @Test("The request log lists requests and statuses, and can be cleared")
    func logs() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            _ = try await api.userInfo(nil)
            _ = try await api.refresh(tokens.refresh)
            _ = try await api.get("/nowhere?code=secret")
            let log = try await api.get("/control/log")
            #expect(
                log.json == [
                    "requests": [
                        [
                            "method": "POST", "path": "/oauth/token", "grantType": "password", "status": 200,
                            "clientID": "account-cli",
                        ],
                        ["method": "GET", "path": "/oauth/userinfo", "status": 401],
                        [
                            "method": "POST", "path": "/oauth/token", "grantType": "refresh_token", "status": 200,
                            "clientID": "account-cli",
                        ],
                        ["method": "GET", "path": "/nowhere", "status": 404],
                    ],
                    "counts": [
                        "/oauth/token": 2, "/oauth/userinfo": 1, "/nowhere": 1,
                        "refreshes": 1, "rotations": 1, "reuseAlarms": 0,
                    ],
                ]
            )
            #expect(try await api.delete("/control/log").json == [:])
            let empty: JSONObject = [
                "requests": [], "counts": ["refreshes": 0, "rotations": 0, "reuseAlarms": 0],
            ]
            #expect(try await api.get("/control/log").json == empty)
        }
    }

    @Test(
        "Control endpoints reject an unknown member or invalid value",
        arguments: [
            ("/control/faults", #"{"faults":[{"path":"/x","statsu":503}]}"#, "faults.0.statsu: unknown member"),
            ("/control/faults", #"{"faults":[{"status":503}]}"#, "faults.0: path is missing"),
            (
                "/control/faults", #"{"faults":[{"path":"/x","status":100}]}"#,
                "faults.0.status: status is from 200 to 599"
            ),
            ("/control/faults", #"{"faults":[{"path":"/x","times":-1}]}"#, "faults.0.times: times is not negative"),
            (
                "/control/faults", #"{"faults":[{"path":"/control/log","status":503}]}"#,
                "faults.0.path: path is * or begins with /, but not with /control/"
            ),
            (
                "/control/faults", #"{"faults":[{"path":"/x","headers":{"a b":"c"}}]}"#,
                "faults.0.headers: headers has a name or value that HTTP does not allow"
            ),
            ("/control/faults", #"{"faults":[{"path":"/x","skip":-1}]}"#, "faults.0.skip: skip is not negative"),
            (
                "/control/faults", #"{"faults":[{"path":"/x","method":"get"}]}"#,
                "faults.0.method: method is one that HTTP allows, in capitals"
            ),
            ("/control/faults", "{}", "faults is missing"),
            ("/control/clock", #"{"offset":3}"#, "unknown member offset"),
            ("/control/clock", #"{"offsetSeconds":1e12}"#, "offsetSeconds is more than a hundred years"),
            ("/control/revoke", #"{"user":"mallory"}"#, "there is no such user"),
            ("/control/token-response", #"{"remove":["x"]}"#, "remove: unknown member"),
        ]
    )
    func refusesNonsense(path: String, body: String, message: String) async throws {
        try await TestServer().run { api in
            let response = try await api.post(path, json: body)
            #expect(response.status == 400)
            #expect(response.json == ["error": "bad_control", "message": .string(message)])
        }
    }

    @Test("Control endpoints reject a malformed body or unknown disconnection")
    func refusesMalformedBodies() async throws {
        try await TestServer().run { api in
            for body in ["{", #"{"faults":[{"path":"*","disconnect":"politely"}]}"#] {
                let response = try await api.post("/control/faults", json: body)
                #expect(response.status == 400)
                #expect(response.error == "bad_control")
            }
        }
    }
}
