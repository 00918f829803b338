import Testing

/// Standard output that takes nothing.
@Suite(.queued)
struct StandardOutputTests {
    static let commands = [
        ["token"], ["whoami"], ["whoami", "--offline"], ["whoami", "--json"], ["status"], ["status", "--json"],
        ["sessions"], ["sessions", "--json"], ["token", "--json"], ["key", "status"], ["doctor"],
        ["refresh", "--json"],
        ["--help"], ["--version"],
    ]

    @Test(arguments: commands)
    func `A full disk is exit code 74`(words: [String]) async throws {
        try await SignedInUser.run { user in
            let command = user.account.command(words)
            let outcome = try await command.run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh").run()
            #expect(outcome.exitCode == 74, "\(outcome)")
            #expect(
                outcome.errors.contains("No space left on device") || outcome.errors.contains("ENOSPC"), "\(outcome)")
            // What was to be written is not said elsewhere.
            #expect(!outcome.errors.contains("at_"), "\(outcome)")
        }
    }

    /// Runs a command with a pipe that nobody reads, and SIGPIPE as a shell leaves it; prints how it ended.
    private static let closedPipe = """
        import os, subprocess, sys
        r, w = os.pipe()
        os.close(r)
        print(subprocess.run(sys.argv[1:], stdout=w, restore_signals=True).returncode)
        """

    @Test(arguments: commands)
    func `A pipe that nobody reads ends the command quietly`(words: [String]) async throws {
        try await SignedInUser.run { user in
            let command = user.account.command(words)
            let outcome = try await command.run(by: "python3", "-c", Self.closedPipe).run()
            #expect(outcome.output == "-13\n", "\(outcome)")
            #expect(outcome.errors == "", "\(outcome)")
        }
    }

    @Test func `A JSON document that could not be written is not half a success`() async throws {
        try await SignedInUser.run { user in
            let logout = user.account.command(["logout", "--json"])
            let outcome = try await logout.run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh").run()
            #expect(outcome.exitCode == 74, "\(outcome)")
            // The sign-out itself was done.
            #expect(try await user.account("whoami").exitCode == 77)
        }
    }
}
