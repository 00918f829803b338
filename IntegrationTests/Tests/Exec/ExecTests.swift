@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// `account exec`, which runs a command with an access token in the environment and without AccountKit's secret
/// variables.
@Suite(.queued)
struct ExecTests {
    private func variables(_ outcome: Outcome) -> [String: String] {
        let pairs = outcome.output.split(separator: "\n").map {
            $0.split(separator: "=", maxSplits: 1).map(String.init)
        }
        return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { _, last in last }
    }

    @Test func `exec sets ACCOUNT_TOKEN, or only the variables named by --env`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            #expect(variables(try await user.account("exec", "env"))["ACCOUNT_TOKEN"] == token)
            let named = variables(try await user.account("exec", "--env", "GH_TOKEN", "--env", "X", "--", "env"))
            #expect(named["GH_TOKEN"] == token && named["X"] == token)
            #expect(named.count { $0.value.contains(token) } == 2, "\(named.keys)")
            // An existing variable is replaced, not duplicated.
            let replaced = try await user.account.with("GH_TOKEN", "old")("exec", "--env", "GH_TOKEN", "env")
            #expect(replaced.output.matches(of: /(?m)^GH_TOKEN=/).count == 1)
            #expect(variables(replaced)["GH_TOKEN"] == token)
        }
    }

    @Test func `exec removes secrets from the environment and keeps other variables`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            var account = user.account
            let secrets = ["ACCOUNT_KEY", "ACCOUNT_CLIENT_SECRET", "ACCOUNT_PASSPHRASE", "CREDENTIALS_DIRECTORY"]
            for name in secrets { account = account.with(name, "/secret") }
            for arguments in [["exec", "env"], ["exec", "--env", "OTHER", "env"]] {
                let got = variables(try await account.with("EMPTY", "").with("MINE", "a=b").run(arguments))
                #expect(got["MINE"] == "a=b" && got["EMPTY"] == "" && got["ACCOUNT_HOME"] == user.container.home)
                #expect(!got.values.contains("/secret"), "\(got)")
                #expect(got.values.contains(token))
            }
            // The command passes on a token from ACCOUNT_TOKEN under the requested names only.
            let given = variables(
                try await user.account.with("ACCOUNT_TOKEN", "given")("exec", "--env", "OTHER", "env"))
            #expect(given["OTHER"] == "given" && given["ACCOUNT_TOKEN"] == nil)
        }
    }

    @Test func `Passes no etcd credentials to the programs that a command runs`() async throws {
        try await SignedInUser.run { user in
            var account = user.account.with("ETCDCTL_CACERT", "/public")
            for name in ["ETCDCTL_USER", "ETCDCTL_PASSWORD", "ETCDCTL_KEY", "ETCDCTL_CERT"] {
                account = account.with(name, "/secret")
            }
            let got = variables(try await account("exec", "env"))
            #expect(!got.values.contains("/secret"), "\(got)")
            #expect(got["ETCDCTL_CACERT"] == "/public")

            // A hook of `keep`, a key command, git run by `doctor`, and a browser.
            let seen = user.container.path("seen")
            let hook = "env >'\(seen)-hook'"
            #expect(try await account("keep", "--once", "--exec", hook).exitCode == 0)
            let script = "env >'\(seen)-key'; head -c 32 /dev/zero | base64"
            #expect(try await account("key", "add", "command", "--", "sh", "-c", script).exitCode == 0)
            let programs = user.container.path("programs")
            try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
            for name in ["git", "browser"] {
                // The file appears when it is complete.
                let text = "#!/bin/sh\nenv >'\(seen)-new' && mv '\(seen)-new' '\(seen)-\(name)'\n"
                try user.container.write(text.utf8, to: "\(programs)/\(name)", permissions: 0o700)
            }
            _ = try await account.command(["doctor"]).run(by: "env", "PATH=\(programs):\(Command.searchPath)").run()
            let login = account.with("BROWSER", programs + "/browser").command(["login", "--web"])
            _ = try await login.whileRunning { login in
                try await waitUntil("the browser was started") { user.container.exists(seen + "-browser") }
                try await login.send(.interrupt)
            }
            for name in ["hook", "key", "git", "browser"] {
                let text = try String(contentsOfFile: "\(seen)-\(name)", encoding: .utf8)
                #expect(text.contains("ACCOUNT_HOME=") && !text.contains("/secret"), "\(name): \(text)")
            }
        }
    }

    @Test func `An embedding tool removes the variables with its own prefix`() async throws {
        try await Container.run { container in
            var environment = container.environment
            environment["GISTS_HOME"] = container.home
            for name in ["GISTS_KEY", "GISTS_CLIENT_SECRET", "GISTS_PASSPHRASE"] { environment[name] = "/secret" }
            environment["GISTS_TOKEN"] = "given"
            let gists = Tool(path: try BuiltProducts.path(of: "gists"), environment: environment, prefix: ["account"])
            let outcome = try await gists("exec", "env")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(variables(outcome)["GISTS_TOKEN"] == "given")
            #expect(!outcome.output.contains("/secret"), "\(outcome)")
        }
    }

    @Test func `exec ends with the command's exit code or signal`() async throws {
        let account = try await given()
        for code: Int32 in [0, 1, 42, 77, 127, 255] {
            #expect(try await account("exec", "sh", "-c", "exit \(code)").exitCode == code)
        }
        for signal in [Signal.terminate, .interrupt, .kill, .quit] {
            let outcome = try await account("exec", "sh", "-c", "kill -\(signal.rawValue) $$")
            #expect(outcome.wasEnded(by: signal), "\(outcome)")
        }
        #expect(try await account.command(["exec", "cat"]).run(input: "in\n").output == "in\n")
    }

    @Test func `exec exits with 127 for an unknown and 126 for an unusable command`() async throws {
        let account = try await given()
        for (words, code, problem) in [
            (["no-such-command"], 127, "no-such-command: command not found"), ([""], 127, "'': command not found"),
            (["--", "-x"], 127, "-x: command not found"), (["/no/such/command"], 127, "/no/such/command: no such file"),
            (["/etc/passwd"], 126, "/etc/passwd: permission denied"), (["/tmp"], 126, "/tmp is a folder"),
            (["/etc/passwd/x"], 126, "/etc/passwd/x: no such file"),
        ] as [([String], Int32, String)] {
            let outcome = try await account.run(["exec"] + words)
            #expect(outcome.exitCode == code, "\(outcome)")
            let lines = outcome.errors.split(separator: "\n")
            #expect(lines.count == 2 && lines.first == "account: \(problem)", "\(outcome)")
            #expect(lines.last?.hasPrefix("  ") == true, "\(outcome)")
            #expect(outcome.output == "" && !outcome.errors.contains("given"))
        }
    }

    @Test func `exec passes all arguments after the command's name to the command`() async throws {
        let account = try await given()
        let words = ["--session", "x", "--env", "Y", "-v", "--help", "--version", "--", "a b", ""]
        for start in [["exec"], ["exec", "--"], ["exec", "--env", "A", "--"]] {
            let outcome = try await account.run(start + ["printf", "<%s>"] + words)
            #expect(outcome.output == words.map { "<\($0)>" }.joined(), "\(outcome)")
        }
        for (words, said) in [
            ([], "specify the command"), (["--"], "specify the command"), (["--no-such", "env"], "unknown option"),
            (["--env", "1A", "env"], "--env requires"), (["--env", "A=B", "env"], "--env requires"),
            (["--min-validity=-1", "env"], "--min-validity requires"),
        ] {
            let outcome = try await account.run(["exec"] + words)
            #expect(outcome.exitCode == 64 && outcome.errors.contains(said), "\(outcome)")
        }
        #expect(try await account("exec", "--help").output.contains("--env"))
    }

    @Test func `exec replaces its process and shows the token in no argument`() async throws {
        try await SignedInUser.run { user in
            let token = try await user.account.storedToken()
            try await user.server.expireTokens()
            let script = "echo $$; exec \"$@\" sh -c 'echo $$; ps -ww -e -o args='"
            let outcome = try await user.account.command(["exec", "--min-validity", "86400"])
                .run(by: "sh", "-c", script, "sh").run()
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.count > 3 && lines[0] == lines[1], "\(outcome)")
            let new = try await user.account.storedToken()
            #expect(new != token)
            #expect(!outcome.output.contains(token) && !outcome.output.contains(new))
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
            #expect(outcome.errors.contains(said) && outcome.errors.count { $0 == "\n" } == 1, "\(outcome)")
        }
        try await Container.run { container in
            let account = try Tool.account(in: container)
            expect(try await account("exec", "env"), 77, "account: not signed in: sign in with `account login`\n")
            expect(try await account("exec", "--session", "work", "env"), 77, "`account login --session work`")
        }
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/token", status: 503))
            // The command uses a valid token even if the service fails.
            #expect(try await user.account("exec", "--min-validity", "86400", "echo", "run").output == "run\n")
        }
        try await SignedInUser.run { user in
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

    @Test func `exec stores the refreshed tokens before running the command`() async throws {
        try await SignedInUser.run { user in
            // The delay exceeds the time that a command waits if its old token is valid.
            try await user.server.setFaults(
                Fault(
                    path: "/oauth/token", grantType: "refresh_token", delayMilliseconds: 7000, afterHandler: true))
            let outcome = try await user.account("exec", "--min-validity", "86400", "env")
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(variables(outcome)["ACCOUNT_TOKEN"] == (try await user.account.storedToken()))
            #expect(try await user.server.log()["rotations"] == 1)
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
        }
    }

    @Test func `exec reports a locked archive immediately, without a prompt`() async throws {
        try await SignedInUser.run { user in
            let added = try await Terminal.run(
                user.account.command(["key", "add", "passphrase"]), .wait("New passphrase: "), .type("horse"), .enter,
                .wait("Confirm passphrase: "), .type("horse"), .enter)
            let removed = try await Terminal.run(
                user.account.command(["key", "remove", "file"]), .wait("Passphrase: "), .type("horse"), .enter)
            #expect(added.exitCode == 0 && removed.exitCode == 0, "\(added) \(removed)")
            // Use a terminal, on which other commands would prompt.
            let session = try await Terminal.run(user.account.command(["exec", "env"]))
            #expect(session.exitCode == 65 && !session.screen.contains("Passphrase: "), "\(session)")
            #expect(session.screen.contains("locked by a passphrase") && session.screen.contains("account unlock"))
        }
    }

    @Test func `curl accepts the token from exec and from token`() async throws {
        try await SignedInUser.run { user in
            let script = #"curl --silent --fail --oauth2-bearer "$ACCOUNT_TOKEN" "$1""#
            let userInfo = user.server.issuer + "/oauth/userinfo"
            let outcome = try await user.account("exec", "sh", "-c", script, "sh", userInfo)
            #expect(outcome.exitCode == 0 && outcome.output.contains("alice"), "\(outcome)")
            let quoted = #"curl --silent --fail --oauth2-bearer "$("$2" token)" "$1""#
            var command = user.account.command([])
            command.words = ["sh", "-c", quoted, "sh", userInfo, user.account.path]
            let substituted = try await command.run()
            #expect(substituted.exitCode == 0 && substituted.output == outcome.output, "\(substituted)")
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
