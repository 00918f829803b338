@testable import EndToEndSupport
import Subprocess
import Testing

/// Commands that run while the response to a refresh is late, at a service that revokes each token separately.
@Suite(.queued(minutes: 10))
struct LogoutWhileRefreshingTests {
    /// Starts a refresh that spends its token, and runs a closure before the response arrives.
    private func run(
        _ meanwhile: @escaping @Sendable (SignedInUser, RunningCommand) async throws -> Void,
        _ test: (SignedInUser, _ refresh: Outcome) async throws -> Void
    ) async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let outcome = try await user.account.command(["refresh"]).whileRunning { refresh in
                try await gate.waitUntilHeld()
                try await meanwhile(user, refresh)
                try await gate.open()
            }
            try await test(user, outcome)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `logout does not wait for a late refresh, which revokes the new tokens`() async throws {
        try await run { user, refresh in
            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            // The refresh is still waiting for the response.
            #expect(await refresh.errors.text == "")
            #expect(!user.container.exists(user.container.archive))
            // The new tokens are valid, and no client has received them yet.
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
        } _: { user, refresh async throws in
            #expect([69, 77].contains(refresh.exitCode), "\(refresh)")
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.server.liveTokens(of: "alice") == [])
            let after = try await user.account("whoami", "--json")
            #expect(after.exitCode == 77)
            #expect(try after.document().reason == "signedOutByUser")
        }
    }

    @Test(arguments: SlowExchangeTests.signals)
    func `A signal does not prevent the revocation of late tokens`(signal: Signal) async throws {
        try await run { user, refresh in
            let logout = try await user.account("logout")
            #expect(logout.exitCode == 0, "\(logout)")
            try await refresh.send(signal)
        } _: { user, refresh async throws in
            #expect(refresh.wasEnded(by: signal), "\(refresh)")
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }

    @Test func `Another user signs in during a late refresh and stays signed in`() async throws {
        try await run { user, refresh in
            let login = try await user.account(
                "login", "--username", "bob", "--password-stdin", input: ExampleServer.bobPassword + "\n")
            #expect(login.exitCode == 0, "\(login)")
            #expect(await refresh.errors.text == "")
        } _: { user, _ async throws in
            #expect(try await user.account("whoami", "--verify").output == "bob\n")
            #expect(try await user.server.liveTokens(of: "alice") == [])
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    // At an unknown service, revoking the late tokens could also end the same user's new session.

    @Test func `Keeps the tokens of a new sign-in by the same user during a refresh`() async throws {
        try await run { user, _ in
            try await user.signIn()
        } _: { user, _ async throws in
            let name = try await user.account("whoami", "--verify")
            #expect(name.output == "alice\n", "\(name)")
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Keeps the new tokens if the user signs out and in during a refresh`() async throws {
        try await run { user, _ in
            #expect(try await user.account("logout").exitCode == 0)
            try await user.signIn()
        } _: { user, _ async throws in
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `A later command revokes late tokens if the first attempt fails`() async throws {
        try await run { user, _ in
            #expect(try await user.account("logout").exitCode == 0)
            // Replaces the fault that holds the response, since that fault is already used up.
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
        } _: { user, _ async throws in
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
            try await user.server.clearFaults()
            let doctor = try await user.account("doctor", "--fix")
            #expect(doctor.exitCode == 0, "\(doctor)")
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }
}
