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
}
