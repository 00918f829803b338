@testable import EndToEndSupport
import Testing

/// Metadata that must not lead to a sign-in: nothing is stored, and no token request is sent.
@Suite(.queued)
struct APIMetadataTests {
    @Test(arguments: ["https://other.example.com/mcp", "SERVER/other", "SERVER/mc", "SERVER/mcp/child", "urn:mcp"])
    func `Refuses the metadata of another resource, and names both`(resource: String) async throws {
        try await APIUser.run { user in
            let resource = resource.replacing("SERVER", with: user.server.issuer)
            try await user.server.alter(.resourceMetadata, setting: ["resource": .text(resource)])
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, resource)
            #expect(login.errors.contains(user.api), "\(login)")
        }
    }

    @Test func `Refuses an issuer that differs by a slash`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(
                .resourceMetadata, setting: ["authorization_servers": .list([user.server.issuer + "/"])])
            try await user.expectRefused(try await user.refusedLogin(), "is for another issuer")
        }
    }

    @Test(arguments: [JSON.list([]), .null, .text("https://id.example.com")])
    func `Refuses metadata without authorization servers`(servers: JSON) async throws {
        try await APIUser.run { user in
            try await user.server.alter(.resourceMetadata, setting: ["authorization_servers": servers])
            try await user.expectRefused(try await user.refusedLogin(), "names no authorization server")
        }
    }

    @Test func `Asks for an issuer if the API names five`() async throws {
        try await APIUser.run { user in
            let others = (1...4).map { "http://127.0.0.1:\($0)" }
            try await user.server.alter(
                .resourceMetadata, setting: ["authorization_servers": .list(others + [user.server.issuer])])
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "--issuer", exitCode: 64)
            #expect(login.errors.contains(user.server.issuer), "\(login)")
            try await user.signIn("--issuer", user.server.issuer)
            #expect(try await user.call() == 200)
            // The session decides from now on.
            let again = try await user.account.logInOnDevice(at: user.server, [user.api, "--session", "second"])
            #expect(again.exitCode == 0, "\(again)")
        }
    }

    @Test func `Refuses an issuer that the API does not name`() async throws {
        try await APIUser.run { user in
            let login = try await user.refusedLogin("--issuer", "https://id.example.com")
            try await user.expectRefused(login, "does not accept tokens of https://id.example.com")
        }
    }

    @Test(arguments: [APIUser.metadata, "/.well-known/oauth-authorization-server"])
    func `Refuses a web page in place of metadata`(path: String) async throws {
        try await APIUser.run { user in
            try await user.server.setFaults(
                Fault(path: path, status: 200, headers: ["Content-Type": "text/html"], body: "<html>"))
            try await user.expectRefused(try await user.refusedLogin(), "a web page instead of", exitCode: 69)
        }
    }

    @Test(arguments: [APIUser.metadata, "/.well-known/oauth-authorization-server"])
    func `Follows no redirect`(path: String) async throws {
        try await APIUser.run { user in
            try await user.server.setFaults(
                Fault(path: path, status: 302, headers: ["Location": user.server.issuer + "/elsewhere"]))
            try await user.expectRefused(
                try await user.refusedLogin(), "AccountKit does not follow redirects", exitCode: 69)
            #expect(try await user.server.log()["/elsewhere"] == 0)
        }
    }

    @Test(arguments: [
        "https://10.0.0.1/", "https://192.168.1.1/", "https://169.254.169.254/", "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/", "http://10.0.0.1/", "https://2130706433/", "ftp://127.0.0.1/",
        "https://user@127.0.0.1/",
    ])
    func `Sends nothing to a private network where the API is not`(address: String) async throws {
        try await APIUser.run { user in
            let challenge = "Bearer resource_metadata=\"\(address)\""
            try await user.server.setFaults(Fault(path: "/mcp", status: 401, headers: ["WWW-Authenticate": challenge]))
            try await user.expectRefused(try await user.refusedLogin(), "the address of its metadata")
            try await user.server.clearFaults()
            try await user.server.alter(.resourceMetadata, setting: ["authorization_servers": .list([address])])
            try await user.expectRefused(try await user.refusedLogin(), "an authorization server")
        }
    }

    @Test func `Refuses a hundred scopes`() async throws {
        try await APIUser.run { user in
            let scopes = (1...100).map { "scope-\($0)" }
            try await user.server.alter(.resourceMetadata, setting: ["scopes_supported": .list(scopes)])
            try await user.expectRefused(try await user.refusedLogin(), "--no-default-scopes")
            try await user.signIn("--no-default-scopes", "--scope", "openid")
        }
    }

    @Test(arguments: [JSON.list(["plain"]), .list([]), .null])
    func `Refuses the browser without PKCE`(methods: JSON) async throws {
        try await APIUser.run { user in
            try await user.server.alter(.discovery, setting: ["code_challenge_methods_supported": methods])
            try await user.expectRefused(try await user.refusedLogin(), "does not list PKCE")
            // The user vouches for the service.
            let login = try await user.account.logIn(at: user.server, [user.api, "--issuer", user.server.issuer])
            #expect(login.exitCode == 0, "\(login)")
        }
    }

    // MARK: The authorization response

    @Test func `Refuses the response of another issuer, and shows nothing of it`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.authorization, setting: ["iss": .text("https://attacker.example.com")])
            let login = try await user.account.logIn(at: user.server, [user.api])
            #expect(login.exitCode == 69, "\(login)")
            #expect(login.errors.contains("a service other than \(user.server.issuer)"), "\(login)")
            #expect(!login.errors.contains("attacker"), "\(login)")
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.log()["/oauth/token"] == 0)
        }
    }

    @Test func `Refuses a response with an issuer that differs by a slash`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.authorization, setting: ["iss": .text(user.server.issuer + "/")])
            let login = try await user.account.logIn(at: user.server, [user.api])
            #expect(login.exitCode == 69, "\(login)")
            #expect(try await user.server.log()["/oauth/token"] == 0)
        }
    }

    @Test func `Refuses a response without the promised issuer`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.authorization, omitting: ["iss"])
            let login = try await user.account.logIn(at: user.server, [user.api])
            #expect(login.exitCode == 69, "\(login)")
            #expect(login.errors.contains("does not name the issuer"), "\(login)")
            #expect(try await user.server.log()["/oauth/token"] == 0)
        }
    }

    // MARK: The registration

    @Test func `Refuses a registration with another redirect URI`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(
                .registration, setting: ["redirect_uris": .list(["http://127.0.0.1:1/callback"])])
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "changed the redirect URI", registered: 1)
        }
    }

    @Test(arguments: [JSON.text(""), .null, .integer(1), .text("ä")])
    func `Refuses a registration without a client ID`(id: JSON) async throws {
        try await APIUser.run { user in
            try await user.server.alter(.registration, setting: ["client_id": id])
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "sent no valid client ID", exitCode: 69, registered: 1)
        }
    }

    @Test(arguments: [401, 403])
    func `Says how to register by hand if the service refuses`(status: Int) async throws {
        try await APIUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/register", status: status))
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "--client-id", registered: 1)
        }
    }
}
