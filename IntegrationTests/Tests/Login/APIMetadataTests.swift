@testable import EndToEndSupport
import Testing

/// Metadata and responses that must not lead to a sign-in: `login` stores nothing, sends no token request, and says why.
/// `ResourceDiscoveryTests`, `HostPlaceTests`, `AuthorizationResponseTests` and `APIServicesTests` have the full tables.
@Suite(.queued)
struct APIMetadataTests {
    @Test func `Refuses metadata that could mislead the user`() async throws {
        try await APIUser.run { user in
            let scopes = (1...100).map { "scope-\($0)" }
            let rows: [([String: JSON], String)] = [
                (["resource": .text(user.server.issuer + "/other")], user.server.issuer + "/other"),
                (["authorization_servers": .list([user.server.issuer + "/other"])], "has no discovery document"),
                (["authorization_servers": .list(["https://10.0.0.1/"])], "an authorization server"),
                (["scopes_supported": .list(scopes)], "--no-default-scopes"),
            ]
            for (members, text) in rows {
                try await user.server.alter(.resourceMetadata, setting: members)
                try await user.expectRefused(try await user.refusedLogin(), text)
            }
            try await user.signIn("--no-default-scopes", "--scope", "openid")
        }
        try await APIUser.run { user in
            try await user.server.alter(.discovery, setting: ["issuer": .text(user.server.issuer + "/other")])
            try await user.expectRefused(try await user.refusedLogin(), "is for another issuer")
        }
    }

    @Test func `Refuses a challenge, a web page and a redirect that lead elsewhere`() async throws {
        try await APIUser.run { user in
            let challenge = "Bearer resource_metadata=\"https://169.254.169.254/\""
            try await user.server.setFaults(Fault(path: "/mcp", status: 401, headers: ["WWW-Authenticate": challenge]))
            try await user.expectRefused(try await user.refusedLogin(), "the address of its metadata")
            let page = ["Content-Type": "text/html"]
            try await user.server.setFaults(
                Fault(path: "/.well-known/*", status: 200, headers: page, body: "<html>"),
                Fault(path: "/mcp/*", status: 200, headers: page, body: "<html>"))
            try await user.expectRefused(try await user.refusedLogin(), "a web page instead of", exitCode: 69)
            let elsewhere = ["Location": user.server.issuer + "/elsewhere"]
            try await user.server.setFaults(
                Fault(path: "/.well-known/*", status: 302, headers: elsewhere),
                Fault(path: "/mcp/*", status: 302, headers: elsewhere))
            try await user.expectRefused(
                try await user.refusedLogin(), "AccountKit does not follow redirects", exitCode: 69)
            #expect(try await user.server.log()["/elsewhere"] == 0)
        }
    }

    @Test func `Finds metadata that only the challenge to POST names`() async throws {
        try await APIUser.run { user in
            let place = "/custom/metadata.json"
            let document = try await HTTP.get(user.server.issuer + APIUser.metadata).text
            let challenge = "Bearer resource_metadata=\"\(user.server.issuer)\(place)\""
            try await user.server.setFaults(
                Fault(path: "/mcp", method: "GET", status: 405),
                Fault(path: "/mcp", method: "POST", status: 401, headers: ["WWW-Authenticate": challenge]),
                Fault(path: "/.well-known/oauth-protected-resource*", status: 400, body: "{}"),
                Fault(
                    path: "/.well-known/oauth-authorization-server", status: 302, headers: ["Location": "/elsewhere"]),
                Fault(path: place, status: 200, headers: ["Content-Type": "text/plain"], body: document))
            try await user.signIn()
            #expect(try await user.server.log()["/elsewhere"] == 0)
            try await user.server.clearFaults()
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Asks for an issuer if the API names five, and refuses others`() async throws {
        try await APIUser.run { user in
            let other = try await user.refusedLogin("--issuer", "https://id.example.com")
            try await user.expectRefused(other, "does not accept tokens of https://id.example.com")
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

    @Test func `Refuses the browser without PKCE, unless the user names the issuer`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.discovery, setting: ["code_challenge_methods_supported": .list(["plain"])])
            try await user.expectRefused(try await user.refusedLogin(), "does not list PKCE")
            let login = try await user.account.logIn(at: user.server, [user.api, "--issuer", user.server.issuer])
            #expect(login.exitCode == 0, "\(login)")
        }
    }

    @Test func `Refuses endpoints on another server, unless the user names the issuer`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(
                .discovery,
                setting: [
                    "authorization_endpoint": .text("http://127.0.0.1:1/authorize"),
                    "authorization_response_iss_parameter_supported": .boolean(false),
                ])
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "127.0.0.1:1, as its authorization_endpoint")
            #expect(login.errors.contains("--issuer \(user.server.issuer)"), "\(login)")
            try await user.signIn("--issuer", user.server.issuer)
        }
    }

    @Test func `Sends no secret, password or token to a service that only an API names`() async throws {
        try await APIUser.run(["--client-secret", "s3cret"]) { user in
            let secret = user.account.with("ACCOUNT_CLIENT_SECRET", "s3cret").with("BROWSER", "true")
            let client = ["--client-id", "account-cli"]
            let rows: [(Tool, [String], String)] = [
                (secret, ["--web"] + client, "the client secret"), (secret, ["--device"] + client, "the client secret"),
                (secret, ["--client-credentials"] + client, "the client secret"),
                (user.account.with("T", "assertion"), ["--workload", "env T"] + client, "the assertion"),
                (user.account, ["--username", "alice", "--password-stdin"], "the password"),
                (user.account, ["--with-token"], "the token"),
            ]
            for (account, options, text) in rows {
                let login = try await account.run(["login", user.api] + options, input: "canary\n")
                try await user.expectRefused(login, text)
                #expect(login.errors.contains("--issuer \(user.server.issuer)"), "\(login)")
                #expect(!login.errors.contains("canary") && !login.errors.contains("s3cret"), "\(login)")
            }
            #expect(try await user.server.log().requests.allSatisfy { $0.secret == nil })
            // A session does not change who named its service.
            try await user.signIn()
            try await user.server.clearLog()
            let given = try await user.account.with("ACCOUNT_TOKEN", "canary")("whoami")
            #expect(given.exitCode == 78 && given.errors.contains("the token is sent only to"), "\(given)")
            #expect(try await user.server.log()["/oauth/userinfo"] == 0)
        }
    }

    @Test func `Refuses the response of another issuer, and shows nothing of it`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.authorization, setting: ["iss": .text("https://attacker.example.com")])
            let other = try await user.account.logIn(at: user.server, [user.api])
            #expect(other.exitCode == 69, "\(other)")
            #expect(other.errors.contains("a service other than \(user.server.issuer)"), "\(other)")
            #expect(!other.errors.contains("attacker"), "\(other)")
            try await user.server.alter(.authorization, omitting: ["iss"])
            let none = try await user.account.logIn(at: user.server, [user.api])
            #expect(none.exitCode == 69, "\(none)")
            #expect(none.errors.contains("does not name the issuer"), "\(none)")
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.log()["/oauth/token"] == 0)
        }
    }

    @Test func `Refuses an unusable registration, and says how to register by hand`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(
                .registration, setting: ["redirect_uris": .list(["http://127.0.0.1:1/callback"])])
            try await user.expectRefused(try await user.refusedLogin(), "changed the redirect URI", registered: 1)
            try await user.server.setFaults(Fault(path: "/oauth/register", status: 403))
            try await user.expectRefused(try await user.refusedLogin(), "--client-id", registered: 2)
        }
        try await APIUser.run(registration: "off") { user in
            try await user.expectRefused(try await user.refusedLogin(), "--client-id")
        }
    }
}
