import Testing

@testable import auth_server

@Suite("Gates")
struct GatesTests {
    private static let refresh = #""path":"/oauth/token","grantType":"refresh_token""#

    private func set(_ api: API, _ fault: String) async throws {
        let response = try await api.post("/control/faults", json: #"{"faults":[\#(fault)]}"#)
        try #require(response.status == 200, "\(response.body)")
    }

    @Test("A gate holds a response after the request was carried out")
    func holdsResponses() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await set(api, #"{\#(Self.refresh),"afterHandler":true,"gate":"late"}"#)
            async let refresh = api.refresh(tokens.refresh)
            #expect(try await api.post("/control/gates/wait", json: #"{"gate":"late"}"#).status == 200)
            #expect(try await api.count("rotations") == 1)
            #expect(try await api.post("/control/gates/open", json: #"{"gate":"late"}"#).json == ["released": 1])
            let newer = try await refresh
            #expect(newer.status == 200)

            // An open gate holds no responses until the test closes the gate again.
            let second = try await api.refresh(try newer.string("refresh_token"))
            #expect(second.status == 200)
            #expect(try await api.post("/control/gates/close", json: #"{"gate":"late"}"#).status == 200)
            async let third = api.refresh(try second.string("refresh_token"))
            #expect(try await api.post("/control/gates/wait", json: #"{"gate":"late","count":1}"#).status == 200)
            #expect(try await api.post("/control/gates/open", json: #"{"gate":"late"}"#).json == ["released": 1])
            #expect(try await third.status == 200)
        }
    }

    @Test("A gate can hold a request before the handler, for one grant type")
    func holdsRequests() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await set(api, #"{\#(Self.refresh),"gate":"early"}"#)
            async let refresh = api.refresh(tokens.refresh)
            #expect(try await api.post("/control/gates/wait", json: #"{"gate":"early"}"#).status == 200)
            #expect(try await api.count("rotations") == 0)
            _ = try await api.signIn()
            _ = try await api.post("/control/gates/open", json: #"{"gate":"early"}"#)
            #expect(try await refresh.status == 200)
            #expect(try await api.count("rotations") == 1)
        }
    }

    @Test("A fault can apply to the first response with a status")
    func waitsForStatus() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            try await set(api, #"{"path":"/oauth/userinfo","ifStatus":200,"status":503,"times":1}"#)
            #expect(try await api.userInfo(nil).status == 401)
            #expect(try await api.userInfo(tokens.access).status == 503)
            #expect(try await api.userInfo(tokens.access).status == 200)
        }
    }

    @Test(
        "The server rejects an invalid fault",
        arguments: [
            #"{"path":"/x","gate":""}"#, #"{"path":"/x","grantType":"magic"}"#, #"{"path":"/x","ifStatus":7}"#,
        ])
    func refusesNonsense(fault: String) async throws {
        try await TestServer().run { api in
            let response = try await api.post("/control/faults", json: #"{"faults":[\#(fault)]}"#)
            #expect(response.error == "bad_control")
        }
    }
}
