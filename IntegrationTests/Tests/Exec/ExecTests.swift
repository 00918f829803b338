@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `account exec`, which runs a command with an access token in the environment and without AccountKit's secret
/// variables. `ProcessReplacementTests` has the table of programs that cannot run, `ParsedAloneTests` the usage errors,
/// and `SecretVariablesTests` the variables.
@Suite(.queued)
struct ExecTests {
    private func variables(_ outcome: Outcome) -> [String: String] {
        let pairs = outcome.output.split(separator: "\n").map {
            $0.split(separator: "=", maxSplits: 1).map(String.init)
        }
        return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { _, last in last }
    }

    @Test func `exec sets only the requested variables, and removes secrets`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            var account = user.account.with("EMPTY", "").with("MINE", "a=b").with("GH_TOKEN", "old")
            let secrets = [
                "ACCOUNT_KEY", "ACCOUNT_CLIENT_SECRET", "ACCOUNT_PASSPHRASE", "CREDENTIALS_DIRECTORY", "ETCDCTL_USER",
                "ETCDCTL_PASSWORD", "ETCDCTL_KEY", "ETCDCTL_CERT",
            ]
            for name in secrets { account = account.with(name, "/secret") }
            let got = variables(try await account("exec", "env"))
            #expect(got["ACCOUNT_TOKEN"] == token)
            #expect(got["MINE"] == "a=b" && got["EMPTY"] == "" && got["ACCOUNT_HOME"] == user.container.home)
            #expect(!got.values.contains("/secret"), "\(got)")

            // An existing variable is replaced, not duplicated.
            let outcome = try await account("exec", "--env", "GH_TOKEN", "--env", "X", "--", "env")
            let named = variables(outcome)
            #expect(outcome.output.matches(of: /(?m)^GH_TOKEN=/).count == 1)
            #expect(named["GH_TOKEN"] == token && named["X"] == token)
            #expect(named.count { $0.value.contains(token) } == 2, "\(named.keys)")
            #expect(!named.values.contains("/secret"), "\(named)")
            // The command passes on a token from ACCOUNT_TOKEN under the requested names only.
            let given = variables(
                try await user.account.with("ACCOUNT_TOKEN", "given")("exec", "--env", "OTHER", "env"))
            #expect(given["OTHER"] == "given" && given["ACCOUNT_TOKEN"] == nil)
        }
    }

    @Test func `An embedding tool removes the variables with its own prefix`() async throws {
        try await Container.run { container in
            var environment = container.environment
            environment["GISTS_HOME"] = container.home
            let secrets = [
                "GISTS_KEY", "GISTS_CLIENT_SECRET", "GISTS_PASSPHRASE", "ACCOUNT_KEY", "ACCOUNT_TOKEN",
                "CREDENTIALS_DIRECTORY",
            ]
            for name in secrets { environment[name] = "/secret" }
            environment["GISTS_TOKEN"] = "given"
            let gists = Tool(path: try BuiltProducts.path(of: "gists"), environment: environment, prefix: ["account"])
            let outcome = try await gists("exec", "env")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(variables(outcome)["GISTS_TOKEN"] == "given")
            #expect(!outcome.output.contains("/secret"), "\(outcome)")
        }
    }

    @Test func `exec passes all arguments, and ends with the exit code or signal of the command`() async throws {
        let account = try await given()
        #expect(try await account("exec", "sh", "-c", "exit 42").exitCode == 42)
        let outcome = try await account("exec", "sh", "-c", "kill -\(Signal.terminate.rawValue) $$")
        #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
        #expect(try await account.command(["exec", "cat"]).run(input: "in\n").output == "in\n")
        let words = ["--session", "x", "--env", "Y", "-v", "--help", "--version", "--", "a b", ""]
        for start in [["exec"], ["exec", "--env", "A", "--"]] {
            let outcome = try await account.run(start + ["printf", "<%s>"] + words)
            #expect(outcome.output == words.map { "<\($0)>" }.joined(), "\(outcome)")
        }

        for (words, code, problem) in [
            (["no-such-command"], 127, "no-such-command: command not found"),
            (["/etc/passwd"], 126, "/etc/passwd: permission denied"),
        ] as [([String], Int32, String)] {
            let outcome = try await account.run(["exec"] + words)
            #expect(outcome.exitCode == code, "\(outcome)")
            let lines = outcome.errors.split(separator: "\n")
            #expect(lines.count == 2 && lines.first == "account: \(problem)", "\(outcome)")
            #expect(lines.last?.hasPrefix("  ") == true, "\(outcome)")
            #expect(outcome.output == "" && !outcome.errors.contains("given"))
        }
        let usage = try await account("exec", "--env", "1A", "env")
        #expect(usage.exitCode == 64 && usage.errors.contains("--env requires"), "\(usage)")
    }

    @Test func `exec waits for the refresh, replaces its process and hides the token`() async throws {
        try await SignedInUser.run { user in
            let userInfo = user.server.issuer + "/oauth/userinfo"
            let curl = #"curl --silent --fail --oauth2-bearer "$ACCOUNT_TOKEN" "$1""#
            let accepted = try await user.account("exec", "sh", "-c", curl, "sh", userInfo)
            #expect(accepted.exitCode == 0 && accepted.output.contains("alice"), "\(accepted)")

            let token = try await user.account.storedToken()
            // The delay exceeds the time that a command waits if its old token is valid.
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", grantType: "refresh_token", delayMilliseconds: 7000, afterHandler: true))
            let script = "echo $$; exec \"$@\" sh -c 'echo $$; ps -ww -e -o args='"
            let outcome = try await user.account.command(["exec", "--min-validity", "86400"])
                .run(by: "sh", "-c", script, "sh").run()
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.count > 3 && lines[0] == lines[1], "\(outcome)")
            #expect(try await user.server.log()["rotations"] == 1)
            let new = try await user.account.storedToken()
            #expect(new != token)
            #expect(!outcome.output.contains(token) && !outcome.output.contains(new))
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
        }
    }

    @Test func `exec passes on signal settings and open files, even after a refresh`() async throws {
        try await SignedInUser.run { user in
            let file = user.container.path("inherited")
            try Data("inherited".utf8).write(to: URL(filePath: file))
            // Run the command without a shell, since a shell changes signal settings.
            func result(_ words: [String], by account: [String]) async throws -> [String] {
                let command = Command(words: account + words, environment: user.container.environment)
                let outcome = try await command.run(by: "env", "--block-signal=USR1", "--ignore-signal=HUP,QUIT")
                    .run(by: "sh", "-c", "exec 7<\"$0\"; exec \"$@\"", file).run()
                #expect(outcome.exitCode == 0, "\(outcome)")
                return outcome.output.split(separator: "\n").map(String.init)
            }
            let refreshing = [user.account.path, "exec", "--min-validity", "86400"]
            for (words, isWhole) in [
                // Compare only the low 31 of 64 bits, since the C library uses some of the other signals internally.
                (["sed", "-nE", "s/^(Sig(Blk|Ign).*)/\\1/p", "/proc/self/status"], false),
                (["find", "/proc/self/fd", "-type", "l", "-printf", "%f\\n"], true),
                (["cat", "/proc/self/fd/7"], true),
            ] {
                let plain = try await result(words, by: []).map { isWhole ? $0 : $0.lastBits }
                #expect(!plain.isEmpty && plain.allSatisfy { !$0.isEmpty })
                try await user.server.clearLog()
                #expect(try await result(words, by: refreshing).map { isWhole ? $0 : $0.lastBits } == plain)
                #expect(try await user.server.log()["rotations"] == 1)
            }
            #expect(try await result(["grep", "SigBlk", "/proc/self/status"], by: refreshing)[0].hasSuffix("200"))
            #expect(try await result(["grep", "SigIgn", "/proc/self/status"], by: refreshing)[0].hasSuffix("05"))
        }
    }

    @Test func `Without a token, exec prints the reason and runs no command`() async throws {
        func expect(_ outcome: Outcome, _ code: Int32, _ said: String) {
            #expect(outcome.exitCode == code && outcome.output == "", "\(outcome)")
            #expect(outcome.errors.lowercased().contains(said.lowercased()), "\(outcome)")
            #expect((1...2).contains(outcome.errors.count { $0 == "\n" }), "\(outcome)")
        }
        try await SignedInUser.run { user in
            expect(try await user.account("exec", "--session", "work", "env"), 77, "`account login --session work`")
            try await user.server.endSessions()
            expect(try await user.account("exec", "--min-validity", "1e9", "env"), 77, "ended this session")
        }
        try await SignedInUser.runWithoutServer { account, container, issuer in
            let clock = try await WrongClock(in: container)
            let outcome = try await clock.run(account, ahead: 86_400, ["exec", "env"])
            expect(outcome, 69, "you are still signed in")
            try Data([1, 2, 3]).write(to: URL(filePath: container.archive))
            expect(try await account("exec", "env"), 65, "Account.plist")
        }
    }

    /// Returns the command with a token in ACCOUNT_TOKEN and without a session.
    private func given() async throws -> Tool {
        try await Container.run { container in
            try Tool.account(in: container).with("ACCOUNT_TOKEN", "given").with("HOME", nil)
        }
    }
}

extension String {
    /// The bits of signals 1 to 31 in a hexadecimal signal mask.
    fileprivate var lastBits: String {
        String(UInt32(truncatingIfNeeded: UInt64(suffix(16), radix: 16) ?? 0) & 0x7FFF_FFFF, radix: 16)
    }
}
