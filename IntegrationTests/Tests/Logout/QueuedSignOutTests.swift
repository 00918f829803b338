@testable import EndToEndSupport
import Foundation
import Testing

/// Revocations that AccountKit could not send immediately.
@Suite(.queued)
struct QueuedSignOutTests {
    /// Runs a test with bob signed in after alice has signed out, and her revocation queued because the service failed.
    /// `session` is bob's session, if it is not the default session.
    private func run(
        queuedBy fault: Fault = Fault(path: "/oauth/revoke", status: 503), bobIn session: String? = nil,
        _ test: (SignedInUser) async throws -> Void
    ) async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.server.setFaults(fault)
            let logout = try await user.account("logout")
            try #require(logout.exitCode == 0, "\(logout)")
            // A new session knows no service.
            let options = session.map { ["--session", $0, "--issuer", user.server.issuer] } ?? []
            let login = try await user.account.run(
                ["login", "--username", "bob", "--password-stdin"] + options,
                input: ExampleServer.bobPassword + "\n")
            try #require(login.exitCode == 0, "\(login)")
            try #require(try await user.server.liveTokens(of: "alice").count == 2)
            try await test(user)
        }
    }

    @Test(arguments: [["doctor", "--fix"], ["logout"]])
    func `logout and doctor --fix send a queued revocation immediately`(words: [String]) async throws {
        try await run { user in
            try await user.server.clearFaults()
            #expect(try await user.account.run(words).exitCode == 0)
            #expect(try await user.server.liveTokens(of: "alice") == [])
        }
    }

    @Test(
        arguments: [["whoami", "--verify"], ["refresh"], ["token", "--min-validity", "86400"]],
        [false, true])
    func `Commands that reach the service send the queued revocations of all sessions`(
        words: [String], isOtherSession: Bool
    ) async throws {
        let options = isOtherSession ? ["--session", "work"] : []
        try await run(bobIn: isOtherSession ? "work" : nil) { user in
            try await user.server.clearFaults()
            let clock = try await WrongClock(in: user.container)
            // Each command moves the clock by a day, since AccountKit delays the next attempt. A command waits only one
            // second for the response to a revocation, so a slow service may need several attempts.
            var tokens: [ExampleServer.LiveToken] = []
            for day in 1...5 where day == 1 || !tokens.isEmpty {
                let outcome = try await clock.run(user.account, ahead: day * 86_400, words + options)
                #expect(outcome.exitCode == 0, "\(outcome)")
                tokens = try await user.server.liveTokens(of: "alice")
            }
            #expect(tokens == [])
        }
    }

    @Test func `A command finds queued revocations without opening other sessions`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "idle")
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--verify"]), in: user.container)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(calls.lines.contains { $0.contains("/Documents/Revocations\"") })
            #expect(calls.lines.filter { $0.contains("/Documents/Sessions") || $0.contains("/idle") } == [])
        }
    }

    @Test func `doctor --fix finds a queued revocation that is not in the index`() async throws {
        try await SignedInUser.run(serverOptions: ExampleServer.eachTokenByItself) { user in
            try await user.signIn(session: "work")
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            try #require(try await user.account("logout", "--session", "work").exitCode == 0)
            try #require(try await user.server.liveTokens(of: "alice").count == 4)
            try FileManager.default.removeItem(atPath: user.container.home + "/Documents/Revocations")
            try await user.server.clearFaults()
            #expect(try await user.account("doctor", "--fix").exitCode == 0)
            // The tokens of the default session remain.
            #expect(try await user.server.liveTokens(of: "alice").count == 2)
        }
    }

    @Test(arguments: RevocationOutcomeTests.refusals)
    func `A rejected revocation is dropped after a few attempts`(fault: Fault) async throws {
        try await run(queuedBy: fault) { user in
            for _ in 1...8 { #expect(try await user.account("whoami", "--verify").exitCode == 0) }
            #expect(try await user.server.log()["/oauth/revoke"] <= 6)
            try await user.server.clearLog()
            for _ in 1...4 { #expect(try await user.account("whoami", "--verify").output == "bob\n") }
            #expect(try await user.server.log()["/oauth/revoke"] == 0)
        }
    }

    @Test func `Retries a queued revocation once per command at most`() async throws {
        try await run { user in
            try await user.server.clearLog()
            for _ in 1...10 { #expect(try await user.account("whoami", "--verify").exitCode == 0) }
            #expect(try await user.server.log()["/oauth/revoke"] <= 20)
        }
    }
}
