import HTTPTypes
import Testing

@testable import auth_server

@Suite("Refresh")
struct RefreshTests {
    @Test("A refresh returns a new refresh token and keeps the access token")
    func rotates() async throws {
        try await TestServer().run { api in
            let first = try await api.signIn()
            let response = try await api.refresh(first.refresh)
            #expect(response.status == 200)
            #expect(response.headers[.cacheControl] == "no-store")
            #expect(try response.string("refresh_token") != first.refresh)
            #expect(try response.string("access_token") != first.access)
            #expect(try await api.userInfo(first.access).status == 200)
            #expect(try await api.userInfo(try response.string("access_token")).status == 200)
            #expect(try await api.count("rotations") == 1)
            #expect(try await api.count("refreshes") == 1)
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test("Reuse of a refresh token ends the session with one alarm")
    func detectsReuse() async throws {
        try await TestServer().run { api in
            let first = try await api.signIn()
            let second = try await api.refresh(first.refresh)

            let reuse = try await api.refresh(first.refresh)
            #expect(reuse.status == 400)
            #expect(reuse.error == "invalid_grant")
            #expect(try await api.count("reuseAlarms") == 1)

            #expect(try await api.refresh(try second.string("refresh_token")).error == "invalid_grant")
            #expect(try await api.userInfo(try second.string("access_token")).status == 401)
            #expect(try await api.userInfo(first.access).status == 401)

            #expect(try await api.refresh(first.refresh).error == "invalid_grant")
            #expect(try await api.count("reuseAlarms") == 1)
            #expect(try await api.count("refreshes") == 4)
            #expect(try await api.count("rotations") == 1)
        }
    }

    @Test("Without rotation, a refresh returns no new refresh token")
    func keepsTheRefreshToken() async throws {
        var settings = ServerSettings()
        settings.rotatesRefreshTokens = false
        try await TestServer(settings: settings).run { api in
            let tokens = try await api.signIn()
            for _ in 1...2 {
                let response = try await api.refresh(tokens.refresh)
                #expect(response.status == 200)
                #expect(response.json["refresh_token"] == nil)
                #expect(try await api.userInfo(try response.string("access_token")).status == 200)
            }
            #expect(try await api.count("rotations") == 0)
        }
    }

    @Test("Without reuse detection, the session survives a spent refresh token")
    func toleratesReuse() async throws {
        var settings = ServerSettings()
        settings.detectsReuse = false
        try await TestServer(settings: settings).run { api in
            let first = try await api.signIn()
            let second = try await api.refresh(first.refresh)
            #expect(try await api.refresh(first.refresh).error == "invalid_grant")
            #expect(try await api.userInfo(try second.string("access_token")).status == 200)
            #expect(try await api.refresh(try second.string("refresh_token")).status == 200)
            #expect(try await api.count("reuseAlarms") == 0)
        }
    }

    @Test("Reuse of a refresh token ends only the session of that sign-in")
    func familiesAreApart() async throws {
        try await TestServer().run { api in
            let laptop = try await api.signIn()
            let phone = try await api.signIn()
            _ = try await api.refresh(laptop.refresh)
            _ = try await api.refresh(laptop.refresh)
            #expect(try await api.userInfo(laptop.access).status == 401)
            #expect(try await api.userInfo(phone.access).status == 200)
            #expect(try await api.refresh(phone.refresh).status == 200)
        }
    }

    @Test("A refresh can narrow the scope, but not widen it")
    func narrowsScope() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn(scope: "openid email")
            let wider = try await api.refresh(tokens.refresh, scope: "openid email phone")
            #expect(wider.status == 400)
            #expect(wider.error == "invalid_scope")

            let narrower = try await api.refresh(tokens.refresh, scope: "openid")
            #expect(narrower.json["scope"] == "openid")
            let claims = try await api.userInfo(try narrower.string("access_token")).json
            #expect(claims == ["sub": "u-5f0c2a9b7d314e86"])

            // The grant still has the full scope.
            let again = try await api.refresh(try narrower.string("refresh_token"))
            #expect(again.json["scope"] == "openid email")
        }
    }

    @Test("Access and refresh tokens are not interchangeable")
    func kindsAreApart() async throws {
        try await TestServer().run { api in
            let tokens = try await api.signIn()
            #expect(try await api.refresh(tokens.access).error == "invalid_grant")
            #expect(try await api.userInfo(tokens.refresh).status == 401)
            #expect(try await api.refresh(tokens.refresh).status == 200)
        }
    }
}
