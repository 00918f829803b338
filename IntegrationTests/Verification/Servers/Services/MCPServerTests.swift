@testable import EndToEndSupport
import Foundation
import Testing

/// Signing in, refreshing and signing out at the authorization server of the official MCP SDK for Python, with an added
/// user info endpoint.
@Suite(.queued(minutes: 15), .server("mcp", importing: "mcp"))
struct MCPServerTests {
    private func run(secretMethod: String? = nil, _ test: (PythonServerUser) async throws -> Void) async throws {
        try await PythonServerUser.run(path: "/named", userInfo: "/named/userinfo", secretMethod: secretMethod, test)
    }

    private static func signIn(at address: String, of alice: PythonServerUser) async throws {
        let page = try await HTTP.get(address).text
        guard let path = page.firstMatch(of: /action="([^"]+)"/)?.output.1 else { throw Unexpected(page) }
        let password = PythonServer.password.replacing(" ", with: "+")
        _ = try await HTTP.postForm(alice.server.origin + path, "username=alice&password=\(password)")
    }

    /// Signs in on the page that the command opens, and follows the redirect.
    private func runSignedIn(secretMethod: String? = nil, _ test: (PythonServerUser) async throws -> Void) async throws
    {
        try await run(secretMethod: secretMethod) { alice in
            let login = try await alice.account.logIn(alice.options) { try await Self.signIn(at: $0, of: alice) }
            try #require(login.exitCode == 0, "\(login)")
            try await test(alice)
        }
    }

    @Test func `Signs in with the browser`() async throws {
        try await run { alice in
            let steps: [Browser.Step] = [
                .type("alice", into: "[name=username]"), .type(PythonServer.password, into: "[name=password]"),
                .press("button"),
            ]
            let login = try await alice.signIn(following: steps)
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await alice.expectVerified()
        }
    }

    @Test(arguments: ["basic", "post"])
    func `Signs in with a client secret by the basic or the post method`(method: String) async throws {
        try await runSignedIn(secretMethod: method) { alice in
            // The session stores the secret and the method.
            let refresh = try await alice.account.with("ACCOUNT_CLIENT_SECRET", nil)("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            #expect(try await alice.refreshes().map(\.authentication) == [method])
        }
    }

    /// Without the path, the service supports only OAuth 2.0: no user info, no ID tokens and no introspection.
    @Test(arguments: [nil, "al"])
    func `Signs in at a service that does not identify the user`(name: String?) async throws {
        try await PythonServerUser.run(userInfo: "/named/userinfo") { alice in
            let options = alice.options + (name.map { ["--username", $0] } ?? [])
            let login = try await alice.account.logIn(options) { try await Self.signIn(at: $0, of: alice) }
            try #require(login.exitCode == 0, "\(login)")
            let whoami = try await alice.account("whoami")
            #expect(whoami.exitCode == 0, "\(whoami)")
            if let name { #expect(whoami.output == name + "\n") }
            #expect(try await alice.account("refresh").exitCode == 0)
            #expect(try await alice.account("token", "--min-validity", "60").exitCode == 0)
            // Only a refresh can confirm the session.
            let verify = try await alice.account("whoami", "--verify")
            #expect(verify.exitCode == 78, "\(verify)")
            try await alice.server.endSignIns(of: alice.client)
            #expect(try await alice.account("refresh").exitCode == 77)
        }
    }

    @Test func `Sends each single-use refresh token once`() async throws {
        try await runSignedIn { try await $0.expectRotation() }
    }

    @Test func `Warns if the service has removed permissions from the session`() async throws {
        try await runSignedIn { try await $0.expectWarningAfterNarrowing() }
    }

    @Test func `Eight processes that need a new token refresh once`() async throws {
        try await runSignedIn { try await $0.expectOneRefreshForEightProcesses() }
    }

    @Test func `logout reports that a client without a secret may not revoke`() async throws {
        try await runSignedIn { try await $0.expectRefusedRevocationToBeReported() }
    }

    @Test func `Signs out when the service rejects the refresh token`() async throws {
        try await runSignedIn { try await $0.expectSignedOutByRejection() }
    }

    @Test func `Keeps the session when the service is unreachable`() async throws {
        try await runSignedIn { try await $0.expectKeptOffline() }
    }
}
