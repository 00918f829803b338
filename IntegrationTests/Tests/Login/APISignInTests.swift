@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in with nothing but the URL of an API. `ResourceDiscoveryTests` and `APIServicesTests` test where AccountKit
/// finds the metadata, which scopes it requests, and as which client.
@Suite(.queued)
struct APISignInTests {
    @Test func `Signs in, calls the API, refreshes and signs out with only a URL`() async throws {
        try await APIUser.run { user in
            let login = try await user.account.logIn(at: user.server, [user.api])
            try #require(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("Signed in as alice at \(user.server.issuer)."), "\(login)")
            #expect(try await user.call() == 200)
            #expect(try await user.server.clients().count == 1)
            #expect(try user.registrations().count == 1)

            try await user.server.expireTokens()
            #expect(try await user.call() == 401)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.call() == 200)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")

            // `login` has created a rule for the API.
            let rule = try await user.account("rule", "which", user.api)
            #expect(rule.exitCode == 0 && rule.output.contains("default"), "\(rule)")
            #expect(try await user.account("rule", "which", user.server.issuer + "/other").exitCode != 0)

            // The next sign-in needs no arguments.
            let again = try await user.account.logInOnDevice(at: user.server)
            #expect(again.exitCode == 0, "\(again)")
            #expect(try await user.call() == 200)

            let paths = ["/oauth/authorize", "/oauth/device_authorization", "/oauth/token"]
            let requests = try await user.server.log().requests.filter { paths.contains($0.path) }
            #expect(Set(requests.map(\.path)) == Set(paths))
            #expect(Set(requests.map(\.resource)) == [user.api], "\(requests)")
            let client = try await user.server.clients().first
            #expect(Set(requests.map(\.clientID)) == [client])
            #expect(try await user.server.clients().count == 1)

            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(try await user.server.clients().isEmpty)
            #expect(try user.registrations().isEmpty)
        }
    }

    @Test func `Repeats the resource in a refresh after the settings are lost`() async throws {
        try await APIUser.run(["--api-metadata", "path"]) { user in
            try await user.signIn()
            try FileManager.default.removeItem(atPath: user.container.home + "/Library/Preferences")
            try await user.server.clearLog()
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            let refreshes = try await user.server.log().requests.filter { $0.path == "/oauth/token" }
            #expect(refreshes.map(\.resource) == [user.api])
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Uses the resource that the metadata names`() async throws {
        try await APIUser.run { user in
            let api = user.api + "?tenant=a"
            try await user.server.alter(.resourceMetadata, setting: ["resource": .text(api)])
            let login = try await user.account.logInOnDevice(at: user.server, [api])
            #expect(login.exitCode == 0, "\(login)")
            // A rule cannot contain a query.
            #expect(login.errors.contains("no token there: \(api) must not contain a query"), "\(login)")
            #expect(try await user.account("rule", "list").output == "")
            // The resource may be a parent of the URL.
            try await user.server.alter(.resourceMetadata, setting: ["resource": .text(user.server.issuer)])
            try await user.signIn("--session", "second")
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.resource) == [api, user.server.issuer])
            // The rule is still for the URL that the user typed.
            #expect(try await user.account("rule", "which", user.api + "/notes").output.contains("second"))
            #expect(try await user.account("rule", "which", user.server.issuer + "/other").exitCode != 0)
        }
    }

    @Test func `Requests the scopes of the API and of the options`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            try await user.signIn("--scope", "email")
            #expect(try await user.call() == 200)
            try await user.signIn("--session", "second", "--no-default-scopes", "--scope", "openid")
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.scope) == ["notes:read email offline_access", "openid"])
        }
    }

    @Test func `Requests only the default scopes that the service lists`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.discovery, setting: ["scopes_supported": .list(["openid", "groups"])])
            try await user.signIn()
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.scope) == ["openid"])
        }
    }

    @Test func `Remembers an issuer that the user named beside the URL`() async throws {
        try await APIUser.run { user in
            // Without PKCE, each sign-in with the browser needs the name.
            try await user.server.alter(.discovery, omitting: ["code_challenge_methods_supported"])
            let login = try await user.account.logIn(at: user.server, [user.api, "--issuer", user.server.issuer])
            try #require(login.exitCode == 0, "\(login)")
            let again = try await user.account.logIn(at: user.server)
            #expect(again.exitCode == 0, "\(again)")
            let other = try await user.account("login", "--web", "--session", "other", user.api)
            #expect(other.exitCode == 78 && other.errors.contains("--issuer"), "\(other)")
        }
    }

    /// The API is at `localhost`, and its service at `127.0.0.1`.
    @Test func `Says which service the API names, and asks on a terminal`() async throws {
        try await APIUser.run { user in
            let api = user.api.replacing("127.0.0.1", with: "localhost")
            let place = "127.0.0.1:\(user.server.port)"
            try await user.server.alter(
                .resourceMetadata, setting: ["authorization_servers": .list([user.server.issuer])])
            let declined = try await Terminal.run(
                user.account.command(["login", "--device", api]), .wait("sign in at \(place)? [y/N] "), .enter)
            #expect(declined.exitCode == 130, "\(declined)")
            #expect(try await user.server.log()["/oauth/device_authorization"] == 0)
            #expect(try await user.server.log()["/oauth/register"] == 0)

            let login = try await user.account.logInOnDevice(at: user.server, [api])
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("localhost:\(user.server.port) uses \(place) to sign you in."), "\(login)")
            #expect(!login.errors.contains("[y/N]"), "\(login)")
            // A later sign-in asks no more, and a named issuer is not in question.
            for options in [[], ["--session", "second", api, "--issuer", user.server.issuer]] {
                let again = try await Terminal.run(
                    user.account.command(["login", "--device"] + options), .wait("enter this code"), .controlC)
                #expect(!again.screen.contains("[y/N]"), "\(again)")
            }
        }
    }

    @Test func `Makes no rule for an API that the token is not for`() async throws {
        try await APIUser.run { user in
            let claims = try user.server.idToken(setting: ["aud": .list(["https://other.example.com"])])
            try await user.server.alter(.token, setting: ["access_token": .text(claims)])
            let login = try await user.account.logInOnDevice(at: user.server, [user.api])
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("no rule was created"), "\(login)")
            #expect(login.errors.contains("--audience https://other.example.com"), "\(login)")
            #expect(try await user.account("rule", "list").output == "")
            #expect(try await user.account("whoami", "--offline").exitCode == 0)
        }
    }

    @Test func `Uses the given client ID before all others`() async throws {
        try await APIUser.run(["--client-metadata"]) { user in
            try await user.signIn(
                "--client-id", "account-cli", "--client-metadata-url", "https://app.example.com/client.json")
            let requests = try await user.server.log().requests
            #expect(requests.first { $0.path == "/oauth/device_authorization" }?.clientID == "account-cli")
            #expect(!requests.contains { $0.path == "/oauth/register" })
        }
    }
}
