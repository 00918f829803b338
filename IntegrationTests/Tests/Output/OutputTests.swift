@testable import EndToEndSupport
import Testing

/// Standard output, standard error and exit codes.
@Suite(.queued)
struct OutputTests {
    @Test func `whoami prints only the bare name on standard output`() async throws {
        try await SignedInUser.run { user in
            for arguments in [
                ["whoami"], ["whoami", "--offline"], ["whoami", "--verify"], ["whoami", "--max-age", "0"],
            ] {
                let outcome = try await user.account.run(arguments)
                #expect(outcome.exitCode == 0)
                #expect(outcome.output == "alice\n")
                #expect(outcome.errors == "")
            }
        }
    }

    @Test func `Shows the ID if the account has no name`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let user = SignedInUser(server: server, container: container, account: try .account(in: container))
                try await server.alter(.userInfo, omitting: ["preferred_username", "name", "email", "nickname"])
                try await user.signInWithToken()
                let outcome = try await user.account("whoami", "--offline")
                #expect(outcome.output == "u-5f0c2a9b7d314e86\n")
            }
        }
    }

    @Test(arguments: [["whoami"], ["whoami", "--offline"], ["whoami", "--verify"], ["token"], ["refresh"]])
    func `When signed out, exits with 77 and prints advice on standard error`(
        arguments: [String]
    ) async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let text = try await account.run(arguments)
            #expect(text.exitCode == 77)
            #expect(text.output == "")
            #expect(text.errors == "account: not signed in\n  Sign in with `account login`.\n")

            let json = try await account.run(arguments + ["--json"])
            #expect(json.exitCode == 77)
            let report = try json.document()
            #expect(report.state == "signedOut")
            #expect(report.reason == "neverSignedIn")
            #expect(report.session == "default")
            #expect(report.account == nil)
            #expect(json.errors == text.errors)
            // Commands that only read create no files.
            #expect(!container.exists(container.home))
        }
    }

    @Test func `JSON of a session has fixed members, and dates in UTC`() async throws {
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
        }
    }

    /// Every command, in an order in which all commands succeed.
    static let commands = [
        ["status"], ["whoami"], ["whoami", "--verify"], ["token"], ["refresh"], ["sessions"], ["switch", "default"],
        ["doctor"], ["logout"],
    ]

    @Test func `Every command prints one JSON document with --json`() async throws {
        try await SignedInUser.run { user in
            for arguments in Self.commands {
                let outcome = try await user.account.run(arguments + ["--json"])
                #expect(outcome.exitCode == 0, "\(outcome)")
                let document = try outcome.document([String: JSON].self)
                #expect(!document.isEmpty)
                #expect(outcome.errors == "", "\(outcome)")
            }
            let login = try await user.account(
                "login", "--username", "alice", "--password-stdin", "--json", input: ExampleServer.alicePassword + "\n")
            #expect(login.exitCode == 0)
            #expect(try login.document().state == "verified")
        }
    }

    @Test func `Prints an error with --json as one document with the same exit code`() async throws {
        try await SignedInUser.run { user in
            let login = ["login", "--username", "alice", "--password-stdin"]
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

    @Test(arguments: [
        (["whoami", "--max-age", "-1"], "--max-age"), (["whoami", "--max-age", "nan"], "--max-age"),
        (["whoami", "--max-age", "soon"], "--max-age"), (["whoami", "--offline", "--verify"], "--verify"),
        (["whoami", "extra"], "extra"), (["login", "--password=secret"], "--password"), (["frobnicate"], "frobnicate"),
        (["switch"], "name"), (["switch", "nowhere"], "nowhere"), (["import"], "file"),
        (["login", "--with-token", "--username", "alice"], "--username"), (["login", "--device", "--web"], "--device"),
        (["logn"], "Did you mean 'login'?"), (["key", "ad"], "Did you mean 'add'?"),
        (["login", "--parameter", "state=1"], "state"), (["login", "--device", "--paste"], "--device"),
        (["login"], "--issuer"),
        (["token", "--min-validity", "-5"], "--min-validity"), (["help", "nosuch"], "nosuch"),
        (["help", "logn"], "Did you mean 'login'?"), (["help", "key", "ad"], "Did you mean 'add'?"),
        (["help", "whoami", "nosuch"], "nosuch"),
    ])
    func `Invalid usage exits with 64 and names the mistake`(
        arguments: [String], word: String
    ) async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container).run(arguments)
            #expect(outcome.exitCode == 64)
            #expect(outcome.output == "")
            #expect(outcome.errors.contains(word), "\(outcome)")
            #expect(!container.exists(container.home))
        }
    }

    @Test(arguments: [["help"], ["help", "login"], ["help", "key", "add"], ["help", "help"], ["--help"]])
    func `Exits with 0 after printing help for an existing command`(arguments: [String]) async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container).run(arguments)
            #expect(outcome.exitCode == 0 && outcome.output.contains("USAGE: account"), "\(outcome)")
        }
    }

    @Test func `Warns if a token expires before --min-validity`() async throws {
        try await SignedInUser.run { user in
            let warning = "--min-validity"
            for words in [["token"], ["token", "--id-token"]] {
                for more in [[], ["--json"]] {
                    let outcome = try await user.account.run(words + ["--min-validity", "999999"] + more)
                    #expect(outcome.exitCode == 0 && !outcome.output.isEmpty, "\(outcome)")
                    #expect(outcome.errors.contains(warning) && outcome.errors.contains("999999"), "\(outcome)")
                }
                #expect(try await user.account.run(words + ["--min-validity", "60"]).errors == "")
                #expect(try await user.account.run(words).errors == "")
            }
            let exec = try await user.account("exec", "--min-validity", "999999", "echo", "run")
            #expect(exec.output == "run\n" && exec.errors.contains(warning), "\(exec)")
        }
    }

    @Test func `Rejects a --min-validity that is not a number`() async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container)("token", "--min-validity", "nan")
            #expect(outcome.exitCode == 64)
            #expect(outcome.errors.contains("--min-validity"))
        }
    }

    @Test(arguments: ["relative/path", "./x", "~"])
    func `Rejects an ACCOUNT_HOME that is not an absolute path`(home: String) async throws {
        try await Container.run { container in
            let outcome = try await Tool.account(in: container).with("ACCOUNT_HOME", home)("whoami")
            #expect(outcome.exitCode == 64)
            #expect(outcome.errors.contains("is not an absolute path"))
        }
    }
}

/// The conditions under which commands send requests to the service.
@Suite(.queued)
struct FreshnessTests {
    @Test func `whoami sends a request only if the last check exceeds --max-age`() async throws {
        try await SignedInUser.run { user in
            for arguments in [["whoami"], ["whoami", "--max-age", "600"], ["whoami", "--json"]] {
                let outcome = try await user.account.run(arguments)
                #expect(outcome.exitCode == 0)
            }
            #expect(try await user.account("whoami", "--json").document().state == "verified")
            #expect(try await user.server.log().requests == [])

            #expect(try await user.account("whoami", "--max-age", "0").exitCode == 0)
            #expect(try await user.server.log()["/oauth/userinfo"] == 1)
            #expect(try await user.account("whoami", "--verify").exitCode == 0)
            #expect(try await user.server.log()["/oauth/userinfo"] == 2)
        }
    }

    @Test func `Offline, sends no request and reports the account as unverified`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account("whoami", "--offline", "--json")
            let report = try outcome.document()
            #expect(outcome.exitCode == 0)
            #expect(outcome.errors == "")
            #expect(report.state == "unverified")
            #expect(report.reason == "notChecked")
            #expect(report.verifiedAt != nil)
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `status sends no request`() async throws {
        try await SignedInUser.run { user in
            let outcome = try await user.account("status")
            #expect(outcome.exitCode == 0)
            #expect(outcome.output.contains("Signed in   alice\n"))
            #expect(outcome.output.contains("Service     \(user.server.issuer)\n"))
            #expect(outcome.errors == "")
            #expect(try await user.server.log().requests == [])
        }
    }

    @Test func `With a queued revocation, whoami sends no request after a recent check`() async throws {
        try await SignedInUser.run { user in
            try await user.server.setFaults(Fault(path: "/oauth/revoke", status: 503))
            #expect(try await user.account("logout").exitCode == 0)
            try await user.signIn()
            try await user.server.clearLog()
            let outcome = try await user.account("whoami")
            #expect(outcome.output == "alice\n")
            let log = try await user.server.log()
            #expect(log.requests == [])
        }
    }
}
