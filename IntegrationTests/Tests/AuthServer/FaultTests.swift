import HTTPTypes
import Testing

@testable import auth_server

/// A fault affects exactly the requests that a test selects. Otherwise a test of a failure would pass without a failure.
@Suite struct FaultTests {
    @Test func `Each fault affects the selected requests only`() async throws {
        try await TestServer().run { api in
            func statuses(_ count: Int, _ path: String = "/device") async throws -> [Int] {
                var found: [Int] = []
                for _ in 0..<count { found.append(try await api.get(path).status) }
                return found
            }
            try await api.setFaults(
                #"{"path":"/device","status":502,"times":2},{"path":"*","status":504,"times":1}"#)
            let more = #"{"faults":[{"path":"/dev*","skip":1,"status":500}],"keep":true}"#
            #expect(try await api.post("/control/faults", json: more).json == ["faults": 1])
            #expect(try await statuses(6) == [502, 502, 504, 200, 500, 500])
            try await api.setFaults(#"{"path":"/device","method":"POST","status":503}"#)
            #expect(try await statuses(1) == [200])
            try await api.setFaults(#"{"path":"*","ifStatus":404,"status":503,"times":1}"#)
            #expect(try await statuses(1) == [200])
            #expect(try await statuses(2, "/nowhere") == [503, 404])
            try await api.setFaults(#"{"path":"*","status":500}"#)
            #expect(try await statuses(1) == [500])
            #expect(try await api.delete("/control/faults").status == 200)
            #expect(try await statuses(1) == [200])
        }
    }

    @Test(arguments: [false, true])
    func `Carries out the request only if the fault has afterHandler`(afterHandler: Bool) async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await api.setFaults(
                #"""
                {"path":"/oauth/token","status":503,"headers":{"Retry-After":"7"},"times":1,
                 "afterHandler":\#(afterHandler)}
                """#)
            let response = try await api.refresh(tokens.refresh)
            #expect(response.status == 503)
            #expect(response.headers[.retryAfter] == "7")
            #expect(response.body.isEmpty)
            #expect(try await api.count("rotations") == (afterHandler ? 1 : 0))
            #expect(try await api.refresh(tokens.refresh).error == (afterHandler ? "invalid_grant" : nil))
        }
    }

    @Test(arguments: [false, true])
    func `A gate holds requests of one grant type until it is opened`(afterHandler: Bool) async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await api.setFaults(
                #"""
                {"path":"/oauth/token","grantType":"refresh_token","gate":"a","afterHandler":\#(afterHandler)}
                """#)
            async let refresh = api.refresh(tokens.refresh)
            #expect(try await api.post("/control/gates/wait", json: #"{"gate":"a"}"#).status == 200)
            #expect(try await api.count("rotations") == (afterHandler ? 1 : 0))
            _ = try await api.signIn()
            #expect(try await api.post("/control/gates/open", json: #"{"gate":"a"}"#).json == ["released": 1])
            let second = try await refresh
            #expect(second.status == 200)
            #expect(try await api.count("rotations") == 1)

            // An open gate holds no requests until it is closed again.
            let third = try await api.refresh(try second.string("refresh_token"))
            _ = try await api.post("/control/gates/close", json: #"{"gate":"a"}"#)
            async let fourth = api.refresh(try third.string("refresh_token"))
            #expect(try await api.post("/control/gates/wait", json: #"{"gate":"a","count":1}"#).status == 200)
            #expect(try await api.post("/control/gates/open", json: #"{"gate":"a"}"#).json == ["released": 1])
            #expect(try await fourth.status == 200)
        }
    }

    @Test(arguments: ["before", "truncated", "garbled"], [false, true])
    func `Breaks the connection before or after the request is carried out`(
        kind: String, afterHandler: Bool
    ) async throws {
        try await TestServer().listen { api, port in
            let tokens = try await api.signIn()
            _ = try await api.delete("/control/log")
            try await api.setFaults(
                #"""
                {"path":"/oauth/token","disconnect":"\#(kind)","body":"{\"a\":","times":1,
                 "afterHandler":\#(afterHandler)}
                """#)
            let form = "grant_type=refresh_token&client_id=account-cli&refresh_token=\(tokens.refresh)"
            let bytes = try await RawConnection.post(port: port, "/oauth/token", form)
            switch kind {
            case "before": #expect(bytes == "")
            case "truncated":
                #expect(bytes.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(bytes.contains("\r\nContent-Length: 69\r\n"))
                #expect(bytes.hasSuffix("\r\n\r\n{\"a\":"))
            default: #expect(bytes == "\u{1}\u{2}\u{3} this is not HTTP\r\n\r\n")
            }
            #expect(try await api.count("refreshes") == 1)
            #expect(try await api.count("rotations") == (afterHandler ? 1 : 0))
            #expect(try await api.refresh(tokens.refresh).status == (afterHandler ? 400 : 200))
        }
    }
}
