@testable import EndToEndSupport
import Testing

/// Signing in, refreshing and signing out at Canaille, whose refresh tokens are single-use and expire with the access
/// token.
@Suite(.queued(minutes: 15), .server("canaille", importing: "canaille"))
struct CanailleTests {
    private func run(hasSecret: Bool = false, _ test: (PythonServerUser) async throws -> Void) async throws {
        try await PythonServerUser.run(userInfo: "/oauth/userinfo", secretMethod: hasSecret ? "basic" : nil, test)
    }

    private static let pages: [Browser.Step] = [
        .type("alice", into: "[name=login]"), .press("button[type=submit]"),
        .type(PythonServer.password, into: "[name=password]"), .press("button[type=submit]"),
        .press("button[value=accept]"),
    ]

    @Test func `Signs in with the browser`() async throws {
        try await run { alice in
            let login = try await alice.signIn(following: Self.pages)
            #expect(login.outcome.exitCode == 0, "\(login.outcome)")
            #expect(login.page.heading == "You are signed in")
            try await alice.expectVerified()
        }
    }

    /// Without a secret, a client may not revoke.
    @Test(arguments: [false, true])
    func `Signs in with a password, refreshes, and revokes with a secret`(hasSecret: Bool) async throws {
        try await run(hasSecret: hasSecret) { alice in
            try await alice.signInWithPassword()
            try await alice.expectVerified()
            let expected = hasSecret ? "basic" : "none"
            #expect(try await alice.server.log(of: alice.client).map(\.authentication) == [expected])
            if hasSecret { return try await alice.expectRevokedByLogout() }
            try await alice.expectSingleUseTokens(haveUniqueTokens: false)
            try await alice.expectRefusedRevocationToBeReported()
        }
    }

    // Each test has a separate client, since the service may issue a revoked token again within the same second.
    @Test func `Signs out when the service rejects the refresh token`() async throws {
        try await run { alice in
            try await alice.signInWithPassword()
            try await alice.expectSignedOutByRejection()
        }
    }

    @Test func `Warns if the service has removed permissions from the session`() async throws {
        try await run { alice in
            try await alice.signInWithPassword()
            try await alice.expectWarningAfterNarrowing()
        }
    }

    /// For this grant, the service accepts a client secret in the header only, and no key.
    @Test func `Signs in as a client without a user`() async throws {
        try await run(hasSecret: true) { user in
            try await user.expectMachineSession(["--client-credentials", "--scope", "profile"])
            let logout = try await user.account("logout", "--json")
            #expect(logout.output.contains(#""revocation":"done""#), "\(logout)")
        }
    }
}
