@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in with nothing but the URL of an API.
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

            let requests = try await user.server.log().requests
            let named = requests.filter { ["/oauth/authorize", "/oauth/token"].contains($0.path) }
            #expect(Set(named.map(\.resource)) == [user.api], "\(named)")
            let client = try await user.server.clients().first
            #expect(Set(named.map(\.clientID)) == [client])

            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            #expect(try await user.server.clients().isEmpty)
            #expect(try user.registrations().isEmpty)
        }
    }

    @Test func `Signs in on another device with only a URL`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            #expect(try await user.call() == 200)
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.resource) == [user.api])
        }
    }

    @Test func `Repeats the resource in a refresh after the settings are lost`() async throws {
        try await APIUser.run { user in
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

    @Test(arguments: ["challenge", "path", "root"])
    func `Finds the metadata of the API`(place: String) async throws {
        try await APIUser.run(["--api-metadata", place]) { user in
            try await user.signIn()
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Treats the URL of an API without metadata as an issuer`() async throws {
        try await APIUser.run(["--api-metadata", "none"]) { user in
            let login = try await user.account.logInOnDevice(at: user.server, [user.server.issuer])
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Accepts a resource that is a parent of the URL`() async throws {
        try await APIUser.run { user in
            try await user.server.alter(.resourceMetadata, setting: ["resource": .text(user.server.issuer)])
            try await user.signIn()
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.resource) == [user.server.issuer])
        }
    }

    @Test func `Creates a rule for the API`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let rule = try await user.account("rule", "which", user.api)
            #expect(rule.exitCode == 0, "\(rule)")
            #expect(rule.output.contains("default"), "\(rule)")
            #expect(try await user.account("rule", "which", user.server.issuer + "/other").exitCode != 0)
        }
    }

    @Test func `Says that there is no rule for an API with a query in its URL`() async throws {
        try await APIUser.run { user in
            let api = user.api + "?tenant=a"
            try await user.server.alter(.resourceMetadata, setting: ["resource": .text(api)])
            let login = try await user.account.logInOnDevice(at: user.server, [api])
            #expect(login.exitCode == 0, "\(login)")
            #expect(login.errors.contains("no token there: \(api) must not contain a query"), "\(login)")
            #expect(try await user.account("rule", "list").output == "")
        }
    }

    @Test func `Signs in to the same API again without arguments`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let again = try await user.account.logInOnDevice(at: user.server)
            #expect(again.exitCode == 0, "\(again)")
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.call() == 200)
        }
    }

    // MARK: Scopes

    @Test func `Requests the scopes of the challenge first`() async throws {
        try await APIUser.run(
            ["--api-scope", "notes:read", "--api-scope", "notes:write", "--challenged-scope", "notes:read"]
        ) { user in
            try await user.signIn()
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.scope) == ["notes:read offline_access"])
        }
    }

    @Test func `Requests the scopes of the metadata without a scope in the challenge`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            try await user.signIn("--scope", "email")
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.scope) == ["notes:read email offline_access"])
            #expect(try await user.call() == 200)
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

    @Test func `Requests only the named scopes without default scopes`() async throws {
        try await APIUser.run(["--api-scope", "notes:read"]) { user in
            try await user.signIn("--no-default-scopes", "--scope", "openid")
            let device = try await user.server.log().requests.filter { $0.path == "/oauth/device_authorization" }
            #expect(device.map(\.scope) == ["openid"])
        }
    }

    // MARK: Clients

    @Test func `Uses the given client ID before all others`() async throws {
        try await APIUser.run(["--client-metadata"]) { user in
            try await user.signIn(
                "--client-id", "account-cli", "--client-metadata-url", "https://app.example.com/client.json")
            let requests = try await user.server.log().requests
            #expect(requests.first { $0.path == "/oauth/device_authorization" }?.clientID == "account-cli")
            #expect(!requests.contains { $0.path == "/oauth/register" })
        }
    }

    @Test func `Uses a client metadata document before a registration`() async throws {
        try await APIUser.run(["--client-metadata"]) { user in
            let document = "https://app.example.com/client.json"
            let login = try await user.account.logIn(at: user.server, [user.api, "--client-metadata-url", document])
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account("refresh").exitCode == 0)
            let requests = try await user.server.log().requests.filter { $0.path == "/oauth/token" }
            #expect(requests.map(\.clientID) == [document, document])
            #expect(try await user.server.clients().isEmpty)
        }
    }

    @Test func `Registers at a service that does not support metadata documents`() async throws {
        try await APIUser.run { user in
            try await user.signIn("--client-metadata-url", "https://app.example.com/client.json")
            #expect(try await user.server.clients().count == 1)
        }
    }

    @Test func `Says how to register by hand`() async throws {
        try await APIUser.run(registration: "off") { user in
            let login = try await user.refusedLogin()
            try await user.expectRefused(login, "--client-id")
        }
    }
}
