@testable import EndToEndSupport
import Testing

/// Standard output that is full or closed.
@Suite(.queued)
struct StandardOutputTests {
    static let commands = [
        ["token"], ["whoami"], ["whoami", "--offline"], ["whoami", "--json"], ["status"], ["status", "--json"],
        ["sessions"], ["sessions", "--json"], ["token", "--json"], ["key", "status"], ["doctor"],
        ["refresh", "--json"],
        ["--help"], ["--version"],
    ]

    @Test(arguments: commands)
    func `Exits with 74 if the disk of standard output is full`(words: [String]) async throws {
        try await SignedInUser.run { user in
            let command = user.account.command(words)
            let outcome = try await command.run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh").run()
            #expect(outcome.exitCode == 74, "\(outcome)")
            #expect(outcome.errors.contains("No space left on device"), "\(outcome)")
            // The command does not print the token on standard error.
            #expect(!outcome.errors.contains("at_"), "\(outcome)")
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

    @Test(arguments: commands)
    func `A closed pipe ends the command without a message`(words: [String]) async throws {
        try await SignedInUser.run { user in
            let command = user.account.command(words)
            let outcome = try await command.run(by: "python3", "-c", Self.closedPipe).run()
            #expect(outcome.output == "-13\n", "\(outcome)")
            #expect(outcome.errors == "", "\(outcome)")
        }
    }

    @Test func `logout exits with 74 if the JSON cannot be written`() async throws {
        try await SignedInUser.run { user in
            let logout = user.account.command(["logout", "--json"])
            let outcome = try await logout.run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh").run()
            #expect(outcome.exitCode == 74, "\(outcome)")
            // The sign-out itself succeeded.
            #expect(try await user.account("whoami").exitCode == 77)
        }
    }
}
