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

    private static func logIn(_ alice: PythonServerUser, _ more: [String] = []) async throws {
        let login = try await alice.account.logIn(alice.options + more) { try await alice.server.signInAtMCP(at: $0) }
        try #require(login.exitCode == 0, "\(login)")
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
        try await run(secretMethod: method) { alice in
            try await Self.logIn(alice)
            // The session stores the secret and the method.
            let refresh = try await alice.account.with("ACCOUNT_CLIENT_SECRET", nil)("refresh")
            #expect(refresh.exitCode == 0, "\(refresh)")
            #expect(try await alice.refreshes().map(\.authentication) == [method])
        }
    }

    @Test func `Refreshes with single-use tokens, and detects the end`() async throws {
        try await run { alice in
            try await Self.logIn(alice)
            try await alice.expectSingleUseTokens()
            try await alice.expectRefusedRevocationToBeReported()

            try await Self.logIn(alice)
            try await alice.expectSignedOutByRejection()

            try await Self.logIn(alice)
            try await alice.expectWarningAfterNarrowing()
        }
    }

    /// Without the path, the service supports only OAuth 2.0: no user info, no ID tokens and no introspection.
    @Test(arguments: [nil, "al"])
    func `Signs in at a service that does not identify the user`(name: String?) async throws {
        try await PythonServerUser.run(userInfo: "/named/userinfo") { alice in
            try await Self.logIn(alice, name.map { ["--username", $0] } ?? [])
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
}
