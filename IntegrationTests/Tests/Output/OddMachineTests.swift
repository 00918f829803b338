@testable import EndToEndSupport
import Testing

/// Machines on which a user has no home directory, too few threads, or paths that are not UTF-8.
@Suite(.queued)
struct OddMachineTests {
    /// Returns a command, run by a user without an entry in the file of users, who may start a limited number of threads.
    private func strange(_ command: Command, threads: Int? = nil) -> Command {
        let limit = threads.map { ["prlimit", "--nproc=\($0)"] } ?? []
        let user =
            Privileges.isRoot
            ? [
                "setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--inh-caps=-all,+dac_read_search",
                "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
            ] : []
        return Command(words: user + limit + command.words, environment: command.environment)
    }

    // MARK: A token without a home directory

    @Test(arguments: [nil, "", "relative", "/nonexistent/home", "/proc/1"])
    func `A token in the environment needs no home directory`(home: String?) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_HOME", nil).with("HOME", home)
                .with("ACCOUNT_TOKEN", "secret-token")
            #expect(try await strange(account.command(["token"])).run().output == "secret-token\n")
            let run = try await strange(account.command(["exec", "--", "sh", "-c", "echo $ACCOUNT_TOKEN"])).run()
            #expect(run.exitCode == 0 && run.output == "secret-token\n", "\(run)")
        }
    }

    // MARK: Threads

    /// Without this check, the command would wait forever, or the network library would abort it.
    @Test(arguments: [1, 2, 4])
    func `Exits with 75 if the system allows no further threads`(threads: Int) async throws {
        try await SignedInUser.run { user in
            if Privileges.isRoot {
                let given = try await Command(words: ["chown", "-R", "54321:54321", user.container.root]).run()
                try #require(given.exitCode == 0, "\(given)")
            }
            // A user other than root may be running more threads than that.
            let login = ["login", "--issuer", user.server.issuer, "--session", "other"]
            let byURL = ["login", user.server.issuer, "--web", "--session", "other"]
            for words in [login + ["--with-token"], byURL, ["refresh"]] {
                let outcome = try await strange(user.account.command(words), threads: threads).run(input: "token\n")
                #expect(outcome.exitCode == 75, "\(outcome)")
                #expect(outcome.errors.contains("does not allow this process to start another thread"), "\(outcome)")
            }
            let whoami = try await strange(user.account.command(["whoami", "--offline"]), threads: threads).run()
            #expect(whoami.exitCode == 0 && whoami.output == "alice\n", "\(whoami)")
            #expect(try await strange(user.account.command(["refresh"])).run().exitCode == 0)
        }
    }

    // MARK: Paths

    @Test(arguments: ["HOME", "ACCOUNT_HOME", "XDG_DATA_HOME"])
    func `Names the variable whose path is not UTF-8`(variable: String) async throws {
        try await Container.run { container in
            var account = try Tool.account(in: container)
            if variable != "ACCOUNT_HOME" { account = account.with("ACCOUNT_HOME", nil) }
            let script = "\(variable)=$(printf '\(container.root)/\\377'); export \(variable); exec \"$@\""
            for words in [["status"], ["login", "--web", "--issuer", "http://127.0.0.1:1"], ["token"]] {
                let outcome = try await account.command(words).run(by: "sh", "-c", script, "sh").run()
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(outcome.errors.contains("the path in \(variable) is not UTF-8"), "\(outcome)")
            }
        }
    }

    @Test func `Refuses arguments that are not UTF-8, but passes them to a program`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container).with("ACCOUNT_TOKEN", "a")
            let script = "exec \"$@\" \"$(printf 'a\\377b')\""
            let refused = try await account.command(["token"]).run(by: "sh", "-c", script, "sh").run()
            #expect(refused.exitCode == 64 && refused.errors.contains("argument 2 is not UTF-8"), "\(refused)")
            let passed = try await account.command(["exec", "--", "sh", "-c", "printf %s \"$1\" | od -An -tx1", "sh"])
                .run(by: "sh", "-c", script, "sh").run()
            #expect(passed.output == " 61 ff 62\n", "\(passed)")
        }
    }
}
