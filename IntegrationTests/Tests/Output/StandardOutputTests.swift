@testable import EndToEndSupport
import Testing

/// Standard output that is full or closed.
@Suite(.queued)
struct StandardOutputTests {
    private static let commands = [["token"], ["status", "--json"], ["--help"]]

    @Test func `Exits with 74 if the disk of standard output is full`() async throws {
        try await SignedInUser.run { user in
            for words in Self.commands + [["logout", "--json"]] {
                let command = user.account.command(words)
                let outcome = try await command.run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh").run()
                #expect(outcome.exitCode == 74, "\(outcome)")
                if words[0] == "logout" { break }
                #expect(outcome.errors.contains("No space left on device"), "\(outcome)")
                // The command does not print the token on standard error.
                #expect(!outcome.errors.contains("at_"), "\(outcome)")
            }
            // The sign-out itself succeeded.
            #expect(try await user.account("whoami").exitCode == 77)
        }
    }

    /// Runs a command with a closed pipe and with the default action of SIGPIPE, as a shell does, and prints its exit
    /// status.
    private static let closedPipe = """
        import os, subprocess, sys
        r, w = os.pipe()
        os.close(r)
        print(subprocess.run(sys.argv[1:], stdout=w, restore_signals=True).returncode)
        """

    @Test func `A closed pipe ends the command without a message`() async throws {
        try await SignedInUser.run { user in
            for words in Self.commands {
                let outcome = try await user.account.command(words).run(by: "python3", "-c", Self.closedPipe).run()
                #expect(outcome.output == "-13\n", "\(outcome)")
                #expect(outcome.errors == "", "\(outcome)")
            }
        }
    }

    // MARK: What a parent process leaves behind

    @Test func `Waits for input and room on nonblocking streams`() async throws {
        try await SignedInUser.run { user in
            let streams = ["python3", "-B", BuiltProducts.fixture("streams.py")]
            func run(_ words: [String], input: String) async throws -> Outcome {
                let command = user.account.command(words)
                return try await Command(
                    words: streams + [input] + command.words, environment: command.environment
                ).run()
            }
            let request = "protocol=https\nhost=example.com\n\n"
            for words in [["token"], ["status", "--json"], ["--help"], ["git-credential", "get"]] {
                let usual = try await user.account.run(words, input: request)
                let other = try await run(words, input: request)
                #expect(other.exitCode == usual.exitCode && other.errors == usual.errors, "\(other)")
                #expect(other.output == usual.output)
            }
            let login = ["login", "--with-token", "--issuer", user.server.issuer, "--session", "other"]
            let outcome = try await run(login, input: try await user.server.issueToken() + "\n")
            #expect(outcome.exitCode == 0, "\(outcome)")
        }
    }

    /// No file of the command gets the number of a closed stream, to which it would then write messages.
    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
    func `Keeps the session if the parent closed standard streams`(closed: String) async throws {
        try await SignedInUser.run { user in
            for words in [["refresh"], ["whoami", "--verify"], ["token"], ["exec", "--", "true"]] {
                let outcome = try await user.account.command(words).run(by: "sh", "-c", "exec \"$@\" \(closed)", "sh")
                    .run()
                let isLost = closed.contains(">&-") && !closed.hasPrefix("2") && closed != "<&- 2>&-"
                #expect(outcome.exitCode == (isLost && ["whoami", "token"].contains(words[0]) ? 74 : 0), "\(outcome)")
            }
            #expect(try await user.account("whoami", "--verify").output == "alice\n")
        }
    }
}
