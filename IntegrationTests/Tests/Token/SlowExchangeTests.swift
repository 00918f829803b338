@testable import EndToEndSupport
import Subprocess
import Testing

/// A service that rotates refresh tokens immediately and responds late. AccountKit completes every exchange that it has
/// started. `SignalGuardTests` has the table of signals, and `ExchangeTests` tests late responses.
@Suite(.queued(minutes: 10))
struct SlowExchangeTests {
    /// Expects that the session is valid after a slow refresh.
    ///
    /// - Parameter refreshes: The expected number of refreshes, or `nil` to accept any number.
    private func expectSignedIn(_ user: SignedInUser, refreshes: Int? = 1) async throws {
        try await user.server.clearFaults()
        func expectRefreshes() async throws {
            let log = try await user.server.log()
            if let refreshes { #expect(log["rotations"] == refreshes) }
            #expect(log["reuseAlarms"] == 0)
        }
        try await expectRefreshes()
        let name = try await user.account("whoami", "--verify")
        #expect(name.output == "alice\n", "\(name)")
        let token = try await user.account("token")
        #expect(try await user.server.accepts(String(token.output.dropLast())), "\(token)")
        try await expectRefreshes()
        let status = try await user.account("status", "--json").document()
        #expect(status.unfinishedRefreshAt == nil)
    }

    @Test func `A late refresh response does not sign the user out`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", grantType: "refresh_token", delayMilliseconds: 8000, afterHandler: true))
            let outcome = try await user.account("whoami", "--max-age", "0")
            #expect(outcome.exitCode == 0 && outcome.output == "alice\n", "\(outcome)")
            try await expectSignedIn(user)
        }
    }

    @Test func `whoami prints the name first and stores late tokens before it exits`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let outcome = try await user.account.command(["whoami", "--max-age", "0"]).whileRunning { whoami in
                try await gate.waitUntilHeld()
                // The response is still held.
                try await whoami.output.wait(for: "alice\n")
                try await gate.open()
            }
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "alice\n")
            try await expectSignedIn(user)
        }
    }

    @Test func `A second process stops waiting and sends no second refresh`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            async let refresh = user.account("refresh")
            try await gate.waitUntilHeld()
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            let check = try await user.account("whoami", "--max-age", "0", "--json")
            #expect(check.exitCode == 0, "\(check)")
            #expect(try check.document().state == "unverified")
            #expect(try check.document().account?.username == "alice")
            #expect(try await user.server.log()["refreshes"] == 1)
            try await gate.open()
            let outcome = try await refresh
            #expect([0, 69].contains(outcome.exitCode), "\(outcome)")
            try await expectSignedIn(user)
        }
    }

    // MARK: Signals

    static let signals: [Signal] = [.interrupt, .terminate, .terminalClosed, .quit]

    /// Sends a signal to `refresh` while the response to its request is held.
    private func refresh(
        _ user: SignedInUser, signal: Signal, hold: () async throws -> Gate
    ) async throws -> Outcome {
        try await user.server.expireTokens()
        let gate = try await hold()
        return try await user.account.command(["refresh"]).whileRunning { refresh in
            try await gate.waitUntilHeld()
            try await refresh.send(signal)
            try await gate.open()
        }
    }

    @Test(arguments: [Signal.interrupt, .terminate])
    func `After a signal, exits only after storing the late tokens`(signal: Signal) async throws {
        try await SignedInUser.run { user in
            let outcome = try await refresh(user, signal: signal) { try await user.server.holdRefreshes() }
            #expect(outcome.wasEnded(by: signal), "\(outcome)")
            try await expectSignedIn(user)
        }
    }

    @Test func `Keeps the session on a signal before the service handles the refresh`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await refresh(user, signal: .terminate) { try await user.server.holdRefreshes(.before) }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            // The stored token matches the token at the service, whether or not the service carried out the request.
            try await expectSignedIn(user, refreshes: nil)
        }
    }

    @Test func `A signal ends the command if the refresh token was not sent yet`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await refresh(user, signal: .terminalClosed) {
                try await user.server.hold("/.well-known/openid-configuration")
            }
            #expect(outcome.wasEnded(by: .terminalClosed), "\(outcome)")
            try await expectSignedIn(user, refreshes: nil)
        }
    }

    @Test func `A signal ends the process immediately once the new tokens are stored`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.hold("/oauth/userinfo", ifStatus: 200)
            let outcome = try await user.account.command(["whoami", "--verify"]).whileRunning { whoami in
                // The service rejected the first request, so the command sends a second request with the new token.
                try await gate.waitUntilHeld()
                try await whoami.send(.quit)
            }
            #expect(outcome.wasEnded(by: .quit), "\(outcome)")
            try await expectSignedIn(user)
        }
    }

    @Test func `Ctrl-C after another signal during a refresh keeps the session`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let outcome = try await user.account.command(["refresh"]).whileRunning { refresh in
                try await gate.waitUntilHeld()
                try await refresh.send(.terminate)
                try await refresh.send(.interrupt)
                try await gate.open()
            }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            try await expectSignedIn(user)
        }
    }

    @Test func `A second Ctrl-C on a terminal ends the process immediately`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let isHeld = user.container.path("held")
            async let session = Terminal.run(
                user.account.command(["refresh"]), .appears(isHeld), .controlC, .wait("Ctrl-C again"),
                .insist("\\x03"))
            try await gate.waitUntilHeld()
            try user.container.write([], to: isHeld)
            // The gate is never opened.
            let end = try await session
            #expect(end.exitCode == 130, "\(end)")
            #expect(end.screen.contains(#/ \d+ s\b/#), "\(end)")
        }
    }

    @Test func `After Ctrl-C on a terminal, exits once the response arrives`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            let gate = try await user.server.holdRefreshes()
            let isHeld = user.container.path("held")
            let isTold = user.container.path("told")
            async let session = Terminal.run(
                user.account.command(["refresh"]), .appears(isHeld), .controlC, .wait("Ctrl-C again"), .tell(isTold))
            try await gate.waitUntilHeld()
            try user.container.write([], to: isHeld)
            try await waitUntil("the terminal showed the message") { user.container.exists(isTold) }
            try await gate.open()
            let end = try await session
            #expect(end.exitCode == 130, "\(end)")
            try await expectSignedIn(user)
        }
    }
}
