@testable import EndToEndSupport
import Subprocess
import Testing

/// Processes that are killed while others check the same session.
@Suite(.queued(minutes: 20))
struct KilledProcessesTests {
    /// Kills a process after the service has sent the new tokens and before the process has stored them.
    private func killBeforeWriting(_ user: SignedInUser) async throws {
        try await user.server.expireTokens()
        try await user.server.setFaults(
            Fault(path: "/oauth/token", delayMilliseconds: 60_000, afterHandler: true, times: 1))
        let exitCode = try await Interrupted.run(user.account.command(["whoami", "--max-age", "0"]), by: .kill) {
            try await user.server.log()["rotations"] >= 1
        }
        #expect(exitCode == 137)
    }

    @Test
    func `status reports that a killed process did not store a refresh response`() async throws {
        try await SignedInUser.run { user in
            let before = try user.container.entry(user.container.archive)
            try await killBeforeWriting(user)
            #expect(try user.container.entry(user.container.archive) == before)
            let status = try await user.account("status", "--json").document()
            #expect(status.state == "unverified")
            let began = try #require(status.unfinishedRefreshAt)
            #expect(try await user.account("status").output.contains("its response was not stored"))

            // The archive still contains the spent token. Reuse of this token ends the session, and the command reports
            // the reason.
            let next = try await user.account("whoami", "--max-age", "0")
            #expect(next.exitCode == 77, "\(next)")
            #expect(next.errors.contains("one token used twice"), "\(next)")
            #expect(try await user.server.log()["reuseAlarms"] == 1)
            let after = try await user.account("status", "--json").document()
            #expect(after.reason == "sessionEnded")
            #expect(after.unfinishedRefreshAt == began)

            try await user.signIn()
            #expect(try await user.account("status", "--json").document().unfinishedRefreshAt == nil)
            #expect(try await user.account("refresh").exitCode == 0)
        }
    }

    @Test func `Only the service ends a session when processes are killed at random`() async throws {
        try await SignedInUser.run { user in
            var random = SystemRandomNumberGenerator()
            var killCount = 0
            for round in 1...20 {
                try await user.server.clearLog()
                try await user.server.expireTokens()
                // The delay makes many of the kills fall between the service's response and the write.
                try await user.server.setFaults(
                    Fault(path: "/oauth/token", delayMilliseconds: 100, afterHandler: true))
                let outcomes = try await run(
                    killing: (0..<200).map { _ in
                        // Every third process on average is killed, after a random time.
                        Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 5..<3000, using: &random) : nil
                    }, user)
                try await user.server.clearFaults()
                let log = try await user.server.log()
                for outcome in outcomes where outcome.exitCode != 137 {
                    let isEnded = outcome.exitCode == 77 && log["reuseAlarms"] > 0
                    #expect(
                        isEnded || outcome.exitCode == 0 && outcome.output == "alice\n", "round \(round): \(outcome)")
                }
                // Each reuse alarm requires a process that was killed while it refreshed.
                let killed = outcomes.filter { $0.exitCode == 137 }
                #expect(log["reuseAlarms"] <= killed.count, "round \(round)")
                killCount += killed.count

                let status = try await user.account("status", "--json").document()
                if status.state == "signedOut" {
                    #expect(log["reuseAlarms"] > 0, "round \(round)")
                    #expect(status.reason == "sessionEnded", "round \(round)")
                    #expect(status.unfinishedRefreshAt != nil, "round \(round)")
                    try await user.signIn()
                } else if status.unfinishedRefreshAt == nil {
                    // `status` reports no problem, so a refresh must succeed.
                    #expect(try await user.account("refresh").exitCode == 0, "round \(round)")
                    #expect(try await user.server.log()["reuseAlarms"] == log["reuseAlarms"], "round \(round)")
                } else {
                    let refresh = try await user.account("refresh")
                    #expect([0, 77].contains(refresh.exitCode), "round \(round): \(refresh)")
                    if refresh.exitCode == 77 { try await user.signIn() }
                }
                let check = try await user.account("whoami", "--verify")
                #expect(check.output == "alice\n", "round \(round): \(check)")
                let doctor = try await user.account("doctor", "--fix")
                #expect(doctor.exitCode == 0, "round \(round): \(doctor)")
            }
            #expect(killCount > 200, "too few processes were killed")
        }
    }

    /// Runs one check in a process for each element. If the element is a number, the process is killed after that many
    /// milliseconds.
    private func run(killing times: [Int?], _ user: SignedInUser) async throws -> [Outcome] {
        try await withThrowingTaskGroup { group in
            for time in times {
                group.addTask {
                    let check = user.account.command(["whoami", "--max-age", "0"])
                    guard let time else { return try await check.run() }
                    return try await check.run(by: "timeout", "--signal=KILL", String(Double(time) / 1000)).run()
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
