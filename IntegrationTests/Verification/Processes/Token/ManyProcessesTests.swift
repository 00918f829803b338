@testable import EndToEndSupport
import Subprocess
import Testing

/// Processes that check, refresh or sign in at the same time.
@Suite(.queued)
struct ManyProcessesTests {
    @Test func `Two hundred processes with an expired token refresh once`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await user.account.expectName("alice", inProcesses: 200)
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }

    @Test func `Concurrent commands with --min-validity refresh once`() async throws {
        try await SignedInUser.run(serverOptions: ["--access-token-lifetime", "600"]) { user in
            // According to this clock, 200 s of the first token remain.
            let account = try await WrongClock(in: user.container).tool(user.account, ahead: 400)
            try await account.expectOneNewToken(minimumValidity: 300, inProcesses: 10)
            let log = try await user.server.log()
            #expect(log["refreshes"] == 1)
            #expect(log["rotations"] == 1)
            #expect(log["reuseAlarms"] == 0)
        }
    }

    @Test func `Concurrent sign-ins of two users leave one user fully signed in`() async throws {
        try await SignedInUser.run { user in
            try await withThrowingTaskGroup { group in
                for index in 1...6 {
                    let (name, password) =
                        index.isMultiple(of: 2)
                        ? ("alice", ExampleServer.alicePassword) : ("bob", ExampleServer.bobPassword)
                    group.addTask {
                        try await user.account("login", "--username", name, "--password-stdin", input: password + "\n")
                    }
                }
                for try await outcome in group { #expect(outcome.exitCode == 0, "\(outcome)") }
            }
            let report = try await user.account("whoami", "--verify", "--json").document()
            #expect(report.state == "verified")
            let isAlice = report.account?.username == "alice"
            #expect(report.account?.id == (isAlice ? "u-5f0c2a9b7d314e86" : "u-c41e88d20b9f6a57"))
            #expect(report.account?.profile?["email"] == .text(isAlice ? "alice@example.org" : "bob@example.org"))
        }
    }

    @Test func `A sign-out takes effect while other processes check the session`() async throws {
        try await SignedInUser.run { user in
            try await user.server.expireTokens()
            try await withThrowingTaskGroup { group in
                for _ in 1...8 {
                    group.addTask { _ = try await user.account("whoami", "--max-age", "0") }
                }
                group.addTask {
                    let outcome = try await user.account("logout")
                    #expect(outcome.exitCode == 0, "\(outcome)")
                }
                try await group.waitForAll()
            }
            #expect(!user.container.exists(user.container.archive))
            #expect(try await user.account("whoami").exitCode == 77)
            #expect(try await user.server.log()["reuseAlarms"] == 0)
        }
    }

    @Test func `Ctrl-C during a refresh keeps the session and releases the lock`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            let gate = try await user.server.hold("/oauth/token", status: 429)
            let refresh = try await user.account.command(["refresh"]).whileRunning { refresh in
                try await gate.waitUntilHeld()
                try await refresh.send(.interrupt)
                try await gate.open()
            }
            #expect(refresh.wasEnded(by: .interrupt), "\(refresh)")
            #expect(try user.container.entry(user.container.archive) == before)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            // The service has responded, so no response was lost.
            #expect(try await user.account("status", "--json").document().unfinishedRefreshAt == nil)

            // The end of the process released the lock.
            try await user.server.clearFaults()
            #expect(try await user.account("refresh").exitCode == 0)
            #expect(try await user.account("status", "--json").document().unfinishedRefreshAt == nil)
            #expect(try await user.account("doctor").exitCode == 0)
        }
    }
}
