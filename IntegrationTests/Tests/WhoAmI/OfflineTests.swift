@testable import EndToEndSupport
import Testing

/// The system calls of `whoami --offline` and other commands.
@Suite(.queued)
struct OfflineTests {
    @Test func `whoami --offline creates no socket and writes nothing`() async throws {
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--offline"]), in: user.container)
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
            // The command did read the name from the archive.
            #expect(calls.lines.contains { $0.hasPrefix("openat(") && $0.contains("\(user.container.archive)") })
        }
    }

    @Test func `After a recent check, whoami creates no socket and writes nothing`() async throws {
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(user.account.command(["whoami"]), in: user.container)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
        }
    }

    @Test(arguments: [["whoami", "--offline"], ["whoami"], ["status"], ["sessions"], ["doctor"]])
    func `Read-only commands create no socket or file when signed out`(arguments: [String]) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let (calls, outcome) = try await SystemCalls.during(account.command(arguments), in: container)
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
            #expect(!container.exists(container.home))
            guard arguments[0] == "whoami" else { return }
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "")
        }
    }

    @Test func `whoami --verify sends a request and records the response`() async throws {
        // Proves that the other tests would detect sockets and writes.
        try await SignedInUser.run { user in
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--verify"]), in: user.container)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets.contains { $0.hasPrefix("connect(") && $0.contains("127.0.0.1") })
            #expect(calls.changingFiles.contains { $0.hasPrefix("rename") && $0.contains("Account.plist") })
        }
    }
}
