@testable import EndToEndSupport
import Testing

/// Standard output, standard error and exit codes of all commands, and when commands send requests. The tables of usage
/// errors are in `UnknownCommandTests`, `ParsedAloneTests` and `LoginOptionsTests`; `ApplicationTests` has the exit codes.
@Suite(.queued)
struct OutputTests {
    @Test func `whoami prints the bare name, and sends a request only if needed`() async throws {
        try await SignedInUser.run { user in
            for (arguments, requestCount) in [
                (["whoami"], 0), (["whoami", "--max-age", "600"], 0), (["whoami", "--offline"], 0),
                (["whoami", "--max-age", "0"], 1), (["whoami", "--verify"], 2),
            ] {
                let outcome = try await user.account.run(arguments)
                #expect(outcome.exitCode == 0)
                #expect(outcome.output == "alice\n")
                #expect(outcome.errors == "")
                #expect(try await user.server.log()["/oauth/userinfo"] == requestCount)
            }
            try await user.server.clearLog()
            let report = try await user.account("whoami", "--offline", "--json").document()
            #expect(report.state == "unverified" && report.reason == "notChecked" && report.verifiedAt != nil)
            let status = try await user.account("status")
            #expect(status.exitCode == 0 && status.errors == "", "\(status)")
            #expect(status.output.contains("Signed in   alice\n"))
            #expect(status.output.contains("Service     \(user.server.issuer)\n"))
            #expect(try await user.server.log().requests == [])

            // Even if a revocation is queued, `whoami` sends no request after a recent check.
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            #expect(try await user.account("logout").exitCode == 0)
            try await user.signIn()
            try await user.server.clearLog()
            #expect(try await user.account("whoami").output == "alice\n")
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `When signed out, exits with 77 and prints advice on standard error`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for arguments in [["whoami"], ["token"], ["refresh"]] {
                let text = try await account.run(arguments)
                #expect(text.exitCode == 77)
                #expect(text.output == "")
                #expect(text.errors == "account: not signed in\n  Sign in with `account login`.\n")
                let json = try await account.run(arguments + ["--json"])
                #expect(json.exitCode == 77)
                let report = try json.document()
                #expect(report.state == "signedOut" && report.reason == "neverSignedIn")
                #expect(report.session == "default" && report.account == nil)
                #expect(json.errors == text.errors)
            }
            // No session is not an error for these commands.
            for arguments in [["sessions"], ["logout", "--all"]] {
                let outcome = try await account.run(arguments)
                #expect(outcome.exitCode == 0 && outcome.output == "" && !outcome.errors.isEmpty, "\(outcome)")
            }
            for (arguments, text) in [
                (["help", "key", "add"], "USAGE: account key add "),
                (["help", "unlock"], "USAGE: account key unlock "),
                (["help", "login", "machine"], "USAGE: account login machine "),
                (["login", "machine", "--help"], "USAGE: account login machine "),
                (["help", "--all"], "\n  git-credential "), (["help", "login", "--all"], "\n  --redirect-uri "),
                (["--help"], "\nMore: `account help --all`\n"),
                (["help", "login"], "\nMore: `account help login --all`\n"),
                ([], "\nArticle: Quick start: the account command, "),
            ] as [([String], String)] {
                let help = try await account.run(arguments)
                #expect(help.exitCode == 0 && help.output.contains(text), "\(help)")
            }
            let first = try await account("--help").output
            #expect(!first.contains("git-credential") && first.split(separator: "\n").count < 40, "\(first)")
        }
    }

    @Test func `Invalid usage exits with 64, names the mistake and creates no file`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for (arguments, word) in [
                (["whoami", "--offline", "--verify"], "--verify"),
                (["token", "--min-validity", "-5"], "--min-validity"),
                (["help", "key", "ad"], "Did you mean 'add'? See `account"),
                (["login", "--token"], "Did you mean '--with-token'?"),
                (["login", "--service", "gihub", "--device"], "Did you mean 'github'?"),
                (["login", "github.com"], "Use --service github."), (["key", "unlock", "--for", "8"], "8h or 30m"),
            ] {
                let outcome = try await account.run(arguments)
                #expect(outcome.exitCode == 64)
                #expect(outcome.output == "")
                #expect(outcome.errors.contains(word), "\(outcome)")
            }
            #expect(!container.exists(container.home))
            let relative = try await account.with("ACCOUNT_HOME", "relative/path")("whoami")
            #expect(relative.exitCode == 64 && relative.errors.contains("is not an absolute path"), "\(relative)")
        }
    }

    /// Every command, in an order in which all commands succeed.
    private static let commands = [
        ["status"], ["whoami", "--verify"], ["token"], ["refresh"], ["sessions"], ["switch", "default"], ["doctor"],
        ["logout"],
    ]

    @Test func `Every command prints one JSON document with --json, even for an error`() async throws {
        try await SignedInUser.run { user in
            let document = try await user.account("whoami", "--json").document([String: JSON].self)
            #expect(document.keys.sorted() == ["account", "expiresAt", "session", "state", "verifiedAt"])
            #expect(document["state"] == .text("verified"))
            #expect(document["session"] == .text("default"))
            for name in ["expiresAt", "verifiedAt"] {
                guard case .text(let date)? = document[name] else { throw Unexpected("no \(name)") }
                #expect(date.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
            }
            guard case .object(let account)? = document["account"] else { throw Unexpected("no account") }
            #expect(account.keys.sorted() == ["id", "issuer", "profile", "username"])
            #expect(account["issuer"] == .text(user.server.issuer))

            for arguments in Self.commands {
                let outcome = try await user.account.run(arguments + ["--json"])
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(try !outcome.document([String: JSON].self).isEmpty)
                #expect(outcome.errors == "", "\(outcome)")
            }
            let login = ["login", "--username", "alice", "--password-stdin"]
            let signedIn = try await user.account.run(login + ["--json"], input: ExampleServer.alicePassword + "\n")
            #expect(try signedIn.document().state == "verified", "\(signedIn)")

            let text = try await user.account.run(login, input: "wrong\n")
            let json = try await user.account.run(login + ["--json"], input: "wrong\n")
            #expect(text.exitCode == 77)
            #expect(json.exitCode == 77)
            #expect(text.output == "")
            let failure = try #require(try json.document().error)
            #expect(failure.code == "signInRefused")
            // The text has the hint on a separate line.
            #expect(text.errors.hasPrefix("account: the service refused the sign-in (invalid_grant)\n  "), "\(text)")
            #expect(failure.message.hasPrefix("the service refused the sign-in (invalid_grant): "), "\(json)")
            #expect(json.errors == text.errors)
        }
    }

    @Test func `Warns if a token expires before --min-validity`() async throws {
        try await SignedInUser.run { user in
            let asked = ["--min-validity", "999999"]
            for words in [
                ["token"] + asked, ["token", "--id-token", "--json"] + asked, ["exec"] + asked + ["echo", "run"],
            ] {
                let outcome = try await user.account.run(words)
                #expect(outcome.exitCode == 0 && !outcome.output.isEmpty, "\(outcome)")
                #expect(outcome.errors.contains("--min-validity") && outcome.errors.contains("999999"), "\(outcome)")
            }
            #expect(try await user.account("token", "--min-validity", "60").errors == "")
        }
    }
}
