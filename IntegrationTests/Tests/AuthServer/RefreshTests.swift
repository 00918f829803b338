import Testing

@testable import auth_server

/// The rules for refresh tokens. With other rules, the tests of refreshes would pass although AccountKit spends a token
/// twice.
@Suite struct RefreshTests {
    @Test func `The reuse of a refresh token ends only its own sign-in`() async throws {
        try await TestServer().run { api in
            let (first, other) = (try await api.signIn(), try await api.signIn())
            let second = try await api.refresh(first.refresh)
            #expect(try await api.userInfo(first.access).status == 200)
            #expect(try await api.refresh(first.refresh).error == "invalid_grant")
            #expect(try await api.refresh(try second.string("refresh_token")).error == "invalid_grant")
            for token in [first.access, try second.string("access_token")] {
                #expect(try await api.userInfo(token).status == 401)
            }
            #expect(try await api.refresh(first.refresh).error == "invalid_grant")
            #expect(try await api.count("reuseAlarms") == 1)
            #expect(try await api.count("refreshes") == 4)
            #expect(try await api.count("rotations") == 1)
            #expect(try await api.userInfo(other.access).status == 200)
            #expect(try await api.refresh(other.refresh).status == 200)
        }
    }

    @Test func `The options disable the rotation or the detection of reuse`() async throws {
        var settings = ServerSettings()
        settings.rotatesRefreshTokens = false
        try await TestServer(settings: settings).run { api in
            let tokens = try await api.signIn()
            for _ in 1...2 {
                let response = try await api.refresh(tokens.refresh)
                #expect(response.status == 200)
                #expect(response.json["refresh_token"] == nil)
            }
            #expect(try await api.count("rotations") == 0)
        }
        settings = ServerSettings()
        settings.detectsReuse = false
        try await TestServer(settings: settings).run { api in
            let first = try await api.signIn()
            let second = try await api.refresh(first.refresh)
            #expect(try await api.refresh(first.refresh).error == "invalid_grant")
            #expect(try await api.refresh(try second.string("refresh_token")).status == 200)
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }
}
