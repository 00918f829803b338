import Testing

/// Standard output that cannot be written to.
@Suite(.queued)
struct WrittenOutputTests {
    static let commands = [
        ["whoami"], ["whoami", "--json"], ["whoami", "--offline"], ["token"], ["token", "--json"], ["status"],
        ["status", "--json"], ["refresh", "--json"], ["sessions"], ["sessions", "--json"], ["key"], ["doctor", "--json"],
        ["--help"], ["login", "--help"], ["--version"], ["logout", "--json"],
    ]

    @Test func `A disk that is full is exit code 74, and the cause is said`() async throws {
        try await SignedInUser.run { user in
            for arguments in Self.commands {
                let command = user.account.command(arguments).run(by: "sh", "-c", "exec \"$@\" > /dev/full", "sh")
                let outcome = try await command.run()
                #expect(outcome.exitCode == 74, "\(outcome)")
                #expect(outcome.errors.contains("No space left on device (ENOSPC)"), "\(outcome)")
            }
        }
    }

    @Test func `A pipe that nobody reads ends a command quietly by SIGPIPE`() async throws {
        try await SignedInUser.run { user in
            for arguments in Self.commands {
                let command = user.account.command(arguments).run(
                    by: "bash", "-c", #""$@" | exec true; exit ${PIPESTATUS[0]}"#, "bash")
                // The reader may be gone before or after.
                let gone = user.account.command(arguments).run(
                    by: "bash", "-c", #"exec 3> >(exec true); wait $!; "$@" >&3"#, "bash")
                for command in [command, gone] {
                    let outcome = try await command.run()
                    #expect([141, 0].contains(outcome.exitCode), "\(outcome)")
                    #expect(outcome.errors == "", "\(outcome)")
                }
                #expect(try await gone.run().exitCode == 141, "\(arguments)")
            }
        }
    }
}
