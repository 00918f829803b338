import Testing

@testable import auth_server

@Suite("Revocation endpoint")
struct RevocationTests {
    @Test("Revoking the access or refresh token ends the session", arguments: ["access", "refresh"])
    func revokes(kind: String) async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            let other = try await api.signIn()
            let response = try await api.form(
                "/oauth/revoke", ["token": kind == "access" ? tokens.access : tokens.refresh])
            #expect(response.status == 200)
            #expect(response.body.isEmpty)
            #expect(try await api.userInfo(tokens.access).status == 401)
            #expect(try await api.refresh(tokens.refresh).error == "invalid_grant")
            #expect(try await api.userInfo(other.access).status == 200)
            // A revocation by the user raises no alarm.
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test("Revoking an unknown token succeeds")
    func unknownToken() async throws {
        try await TestServer().run { api in
            let response = try await api.form(
                "/oauth/revoke", ["token": "rt_made_up", "token_type_hint": "refresh_token"])
            #expect(response.status == 200)
        }
    }

    @Test("A revocation requires a known client and a token")
    func refusesIncompleteRequests() async throws {
        try await TestServer().run { api in
            #expect(try await api.form("/oauth/revoke", [:]).error == "invalid_request")
            let tokens = try await api.signIn()
            let stranger = try await api.form("/oauth/revoke", ["token": tokens.access], clientID: "someone-else")
            #expect(stranger.status == 401)
            #expect(try await api.userInfo(tokens.access).status == 200)
        }
    }
}
