@testable import EndToEndSupport
import Testing

/// The system calls of `whoami`: without the network, it creates no socket and writes nothing, and it never opens other
/// sessions.
@Suite(.queued)
struct OfflineTests {
    @Test func `whoami --offline creates no socket and writes nothing`() async throws {
        try await SignedInUser.run { user in
            try await user.signIn(session: "idle")
            let (calls, outcome) = try await SystemCalls.during(
                user.account.command(["whoami", "--offline"]), in: user.container)
            #expect(outcome.exitCode == 0)
            #expect(outcome.output == "alice\n")
            #expect(calls.onSockets == [])
            #expect(calls.changingFiles == [])
            // The command did read the name from the archive.
            #expect(calls.lines.contains { $0.hasPrefix("openat(") && $0.contains("\(user.container.archive)") })
            // The command forbids core dumps and debuggers before it reads a key.
            let forbidden = calls.lines.firstIndex { $0.hasPrefix("prctl(PR_SET_DUMPABLE, ") && $0.hasSuffix("= 0") }
            let read = calls.lines.firstIndex { $0.contains("Account.key") || $0.contains("Account.plist") }
            #expect(try #require(forbidden) < #require(read))
            #expect(!calls.lines[try #require(forbidden)].contains("SUID_DUMP_USER"))

            // A check has sockets and writes, so the trace would show those of the other command.
            let (verifying, verified) = try await SystemCalls.during(
                user.account.command(["whoami", "--verify"]), in: user.container)
            #expect(verified.output == "alice\n")
            #expect(verifying.onSockets.contains { $0.hasPrefix("connect(") && $0.contains("127.0.0.1") })
            #expect(verifying.changingFiles.contains { $0.hasPrefix("rename") && $0.contains("Account.plist") })
            // The command looks for queued revocations, but opens no other session.
            #expect(verifying.lines.contains { $0.contains("/Documents/Revocations\"") })
            #expect(verifying.lines.filter { $0.contains("/Documents/Sessions") || $0.contains("/idle") } == [])
        }
    }
}
