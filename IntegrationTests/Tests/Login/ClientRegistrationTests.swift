@testable import EndToEndSupport
import Foundation
import Testing

/// Registrations of the tool at services (RFC 7591). `ClientRegistrationsTests` and `ClientRegistrationUseTests` test how
/// AccountKit stores, shares and removes them, and `APIServicesTests` every response of the service.
@Suite(.queued)
struct ClientRegistrationTests {
    @Test func `Shares one registration among sessions, and removes it with the last`() async throws {
        try await APIUser.run { user in
            async let first: Void = user.signIn()
            async let second: Void = user.signIn("--session", "second")
            _ = try await (first, second)
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("logout").exitCode == 0)
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.account("refresh", "--session", "second").exitCode == 0)
            #expect(try await user.account("logout", "--session", "second").exitCode == 0)
            #expect(try await user.server.clients().isEmpty)
            #expect(try user.registrations().isEmpty)
        }
    }

    @Test func `Keeps a registration if the service is unreachable at sign-out`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            try await user.server.setFaults(Fault(path: "/oauth/*", status: 503))
            #expect(try await user.account("logout").exitCode == 0)
            #expect(try user.registrations().count == 1)
            try await user.server.clearFaults()
            try await user.signIn()
            #expect(try await user.server.clients().count == 1)
        }
    }

    @Test func `Registers again at sign-in if the service has forgotten the client`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            try await user.server.forgetClients()
            let login = try await user.account.logIn(at: user.server, [user.api, "--register"])
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Keeps the session if a refresh finds the registration forgotten`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            try await user.server.forgetClients()
            let refresh = try await user.account("refresh")
            #expect(refresh.exitCode == 78, "\(refresh)")
            #expect(refresh.errors.contains("no longer knows the registration"), "\(refresh)")
            #expect(refresh.errors.contains("sign in again"), "\(refresh)")
            #expect(try await user.server.log()["/oauth/register"] == 1)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")

            // A sign-in registers the tool again, but only once.
            let body = #"{"error":"invalid_client"}"#
            try await user.server.setFaults(Fault(path: "/oauth/device_authorization", status: 401, body: body))
            try await user.server.clearLog()
            let login = try await user.account("login", "--device", user.api)
            #expect(login.exitCode == 78, "\(login)")
            #expect(try await user.server.log()["/oauth/register"] == 1)
            #expect(try await user.server.log()["/oauth/device_authorization"] == 2)
            #expect(try await user.call() == 200)
        }
    }

    @Test func `Uses a secret that the service issues, and stores it encrypted`() async throws {
        try await APIUser.run(["--registration-secrets"]) { user in
            try await user.server.alter(
                .discovery, setting: ["token_endpoint_auth_methods_supported": .list(["client_secret_basic"])])
            try await user.signIn()
            #expect(try await user.account("refresh").exitCode == 0)
            try await user.signIn("--session", "second")
            let requests = try await user.server.log().requests.filter { $0.path == "/oauth/token" }
            #expect(Set(requests.map(\.secret)) == ["client_secret_basic"])
            for (path, entry) in try user.container.files() {
                let text = String(decoding: entry.bytes, as: UTF8.self)
                #expect(!text.contains("secret_") && !text.contains("registration_"), "\(path)")
            }
        }
    }

    @Test func `Uses the remembered port, and registers another one if it is taken`() async throws {
        try await APIUser.run { user in
            #expect(try await user.account.logIn(at: user.server, [user.api]).exitCode == 0)
            #expect(try await user.account.logIn(at: user.server, [user.api]).exitCode == 0)
            #expect(try await user.server.log()["/oauth/register"] == 1)
            let login = try await user.account.logIn(at: user.server, [user.api])
            let address = try #require(login.errors.firstMatch(of: /\n +(http\S+)\n/)?.output.1)
            let port = try #require(URL(string: try AuthorizationAddress(String(address)).callback)?.port)
            let last = try await ExampleServer.run(["--port", "\(port)"]) { _ in
                try await user.account.logIn(at: user.server, [user.api])
            }
            #expect(last.exitCode == 0, "\(last)")
            #expect(try await user.server.log()["/oauth/register"] == 1)
            #expect(try await user.server.clients().count == 1)
            #expect(try user.registrations().count == 1)
        }
    }

    @Test func `Updates the registration for more scopes`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            try await user.signIn("--session", "second", "--scope", "groups")
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("refresh", "--session", "second").exitCode == 0)
            try await user.signIn()
            #expect(try await user.server.log()["/oauth/register"] == 1)
            #expect(try user.registrations().count == 1)
            #expect(try await user.account("logout", "--all").exitCode == 0)
            #expect(try await user.server.clients().isEmpty)
            #expect(try user.registrations().isEmpty)
        }
    }

    /// AccountKit does not update a client with a secret: the response may replace the secret, of which each session has a
    /// copy.
    @Test func `Removes the registration that a sign-in has replaced`() async throws {
        try await APIUser.run(["--registration-secrets"]) { user in
            try await user.signIn()
            try await user.signIn("--scope", "groups")
            #expect(try await user.server.log()["/oauth/register"] == 2)
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("logout").exitCode == 0)
            #expect(try await user.server.clients().isEmpty)
        }
    }

    @Test func `A sign-out keeps the registration of a sign-in in progress`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let words = ["--session", "second", user.api]
            let login = try await user.account.logIn(words) { (address: String) async throws in
                #expect(try await user.account("logout").exitCode == 0)
                #expect(try await user.server.clients().count == 1)
                #expect(try user.registrations().count == 1)
                _ = try? await HTTP.get(try await user.server.redirection(from: address))
            }
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.account("refresh", "--session", "second").exitCode == 0)
            #expect(try await user.account("logout", "--session", "second").exitCode == 0)
            #expect(try await user.server.clients().isEmpty)
            #expect(try user.registrations().isEmpty)
        }
    }
}

extension ClientRegistrationTests {
    @Test func `Keeps sessions if the key of the registrations is damaged`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            let path = user.container.home + "/Library/Keys/Clients/Registrations.key"
            try user.container.write([1, 2, 3], to: path)
            #expect(try await user.account("refresh").exitCode == 0)
            let login = try await user.account("login", user.api, "--device")
            #expect(login.exitCode == 65, "\(login)")
            #expect(login.errors.contains("does not have 32 bytes"), "\(login)")
            #expect(login.errors.contains("`rm \(path)`"), "\(login)")
            #expect(try await user.server.log()["/oauth/register"] == 1)
            #expect(try await user.call() == 200)

            try FileManager.default.removeItem(atPath: path)
            try await user.signIn()
            #expect(try await user.server.log()["/oauth/register"] == 2)
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Keeps the registration that a queued revocation needs`() async throws {
        try await APIUser.run { user in
            try await user.signIn()
            try await user.signIn("--session", "second")
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            #expect(try await user.account("logout", "--session", "second").exitCode == 0)
            try await user.server.clearFaults()
            #expect(try await user.account("logout").exitCode == 0)
            #expect(try await user.server.clients().count == 1)
            #expect(try await user.account("doctor", "--fix").exitCode == 0)
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }

    /// The code belongs to the rejected client, so the user signs in once more.
    @Test func `Signs in with the browser again if the service rejects the client`() async throws {
        try await APIUser.run { user in
            let rejection = #"{"error":"invalid_client"}"#
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", grantType: "authorization_code", status: 401, body: rejection, times: 1))
            let command = user.account.with("BROWSER", "true").command(["login", "--web", user.api])
            let login = try await command.whileRunning { running in
                for count in 1...2 {
                    let address = try await running.errors.match { text in
                        let found = text.matches(of: /\n +(http\S+)\n/).map { String($0.1) }
                        return found.count >= count ? found[count - 1] : nil
                    }
                    _ = try? await HTTP.get(try await user.server.redirection(from: address))
                }
            }
            #expect(login.exitCode == 0, "\(login)")
            #expect(try await user.server.log()["/oauth/register"] == 2)
            #expect(try await user.call() == 200)
        }
    }
}
