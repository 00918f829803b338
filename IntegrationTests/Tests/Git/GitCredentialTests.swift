@testable import EndToEndSupport
import Foundation
import Testing

/// The input, output and exit code of `account git-credential`, started in the same way as by git.
@Suite(.queued)
struct GitCredentialTests {
    private static let question = "protocol=https\nhost=git.example.com\n\n"

    private func run(byToken: Bool = false, _ test: (SignedInUser) async throws -> Void) async throws {
        try await SignedInUser.run(byToken: byToken) { user in
            #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
            try await test(user)
        }
    }

    private func values(_ outcome: Outcome) -> [String: String] {
        var values: [String: String] = [:]
        for line in outcome.output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        return values
    }

    @Test func `git-credential prints the user, token and expiry for git`() async throws {
        try await run { user in
            let answer = try await user.account("git-credential", "get", input: Self.question)
            #expect(answer.exitCode == 0, "\(answer)")
            #expect(answer.errors == "")
            let token = try await user.account.storedToken()
            let end = try #require(try await user.account("status", "--json").document().expiresAt)
            let seconds = try Date(end, strategy: .iso8601).timeIntervalSince1970
            #expect(answer.output == "username=alice\npassword=\(token)\npassword_expiry_utc=\(Int(seconds))\n")

            let bearer = try await user.account(
                "git-credential", "get", input: "capability[]=authtype\n" + Self.question)
            #expect(
                bearer.output.hasPrefix(
                    "capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\nephemeral=1\nusername=alice\n"))
            #expect(!bearer.output.contains("refresh"))

            let named = try await user.account(
                "git-credential", "get", input: "username=bob\n" + Self.question)
            #expect(values(named)["username"] == "bob")
        }
    }

    @Test func `git-credential prints no token if localhost is another machine`() async throws {
        try await run { user in
            #expect(try await user.account("rule", "add", "http://localhost:8080").exitCode == 0)
            let question = "protocol=http\nhost=localhost:8080\n\n"
            let get = user.account.command(["git-credential", "get"])
            #expect(try await get.run(input: question).output.contains("password="))
            let misled = try get.runWhereLocalhostLeads(to: "192.0.2.1", in: user.container)
            let outcome = try await misled.run(input: question)
            #expect(!outcome.output.contains("password="), "\(outcome)")
            #expect(outcome.errors.contains("localhost resolves to 192.0.2.1"), "\(outcome)")
        }
    }

    @Test func `git-credential ignores store and unknown operations`() async throws {
        try await run { user in
            let before = try user.container.files()
            let credential = "username=bob\npassword=hunter2\n" + Self.question
            for operation in ["store", "approve", "capability"] {
                let outcome = try await user.account("git-credential", operation, input: credential)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "" && outcome.errors == "")
            }
            #expect(try user.container.files() == before)
        }
    }

    @Test func `git-credential erase ignores any token except the current token`() async throws {
        try await run { user in
            let token = try await user.account.storedToken()
            let before = try user.container.files()
            for input in [
                "password=other\n" + Self.question, Self.question,
                "password=\(token)\nprotocol=https\nhost=evil.example\n\n",
                "authtype=Digest\ncredential=\(token)\n" + Self.question,
            ] {
                let outcome = try await user.account("git-credential", "erase", input: input)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "" && outcome.errors == "")
            }
            #expect(try user.container.files() == before)
        }
    }

    @Test(arguments: ["password=TOKEN\n", "authtype=Bearer\ncredential=TOKEN\n"])
    func `git-credential erase of the current token causes a refresh`(line: String) async throws {
        try await run { user in
            let token = try await user.account.storedToken()
            let input = line.replacing("TOKEN", with: token) + Self.question
            #expect(try await user.account("git-credential", "erase", input: input).exitCode == 0)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            #expect(try await user.server.log()["refreshes"] == 0)
            let next = try await user.account("git-credential", "get", input: Self.question)
            #expect(values(next)["password"].map { $0 != token && !$0.isEmpty } == true, "\(next)")
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `git-credential erase keeps a token that cannot be refreshed`() async throws {
        try await run(byToken: true) { user in
            let token = try await user.account.storedToken()
            let input = "password=\(token)\n" + Self.question
            #expect(try await user.account("git-credential", "erase", input: input).exitCode == 0)
            #expect(values(try await user.account("git-credential", "get", input: Self.question))["password"] == token)
        }
    }

    @Test(arguments: [
        "", "\n", "protocol=https\n\n", "protocol=https\nhost=evil.example\n\n",
        "protocol=http\nhost=git.example.com\n\n",
        "protocol=https\nhost=git.example.com.evil.example\n\n", "protocol=https\nhost=evilgit.example.com\n\n",
        "protocol=https\nhost=git.example.com@evil.example\n\n", "protocol=https\nhost=git.example.com:8443\n\n",
        "protocol=https\nhost=git.example.com.\n\n", "protocol=https\nhost=git.example.com\r\n\n",
        "protocol=https\nhost=git.example.com%00.evil.example\n\n", "protocol=https\nhost=gіt.example.com\n\n",
        "protocol=https\nhost=evil.example\n\nhost=git.example.com\n", "protocol=ssh\nhost=git.example.com\n\n",
        "protocol=https\nhost=[git.example.com]\n\n",
    ])
    func `git-credential prints nothing for hosts and inputs without a rule`(input: String) async throws {
        try await run { user in
            let outcome = try await user.account("git-credential", "get", input: input)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect(outcome.output == "" && outcome.errors == "")
        }
    }

    @Test(arguments: [
        "host", "protocol=https\nhost=git.example.com\0\n\n", "protocol=https\nhost=git.example.com\0.evil.example\n\n",
        "=x\n", String(repeating: "x", count: 5 << 20),
    ])
    func `git-credential rejects malformed input as a usage error`(input: String) async throws {
        try await run { user in
            let outcome = try await user.account("git-credential", "get", input: input)
            #expect(outcome.exitCode == 64, "\(outcome)")
            #expect(outcome.output == "")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
        }
    }

    @Test func `git-credential ignores an unknown line of 1 MiB`() async throws {
        try await run { user in
            let long = "later=" + String(repeating: "x", count: 1 << 20) + "\n"
            let outcome = try await user.account("git-credential", "get", input: long + Self.question)
            #expect(outcome.output.hasPrefix("username=alice\n"), "\(outcome.exitCode)")
        }
    }

    @Test func `git-credential ignores the case of a host`() async throws {
        try await run { user in
            let outcome = try await user.account(
                "git-credential", "get", input: "protocol=https\nhost=GIT.Example.com:443\n\n")
            #expect(outcome.output.hasPrefix("username=alice\n"), "\(outcome)")
        }
    }

    @Test func `git-credential uses ACCOUNT_TOKEN only for the session in use`() async throws {
        try await run { user in
            let account = user.account.with("ACCOUNT_TOKEN", "from-the-environment")
            let own = try await account("git-credential", "get", input: Self.question)
            #expect(own.output == "username=oauth2\npassword=from-the-environment\n", "\(own)")
            let other = try await account.with("ACCOUNT_SESSION", "work")("git-credential", "get", input: Self.question)
            #expect(values(other)["username"] == "alice", "\(other)")
            #expect(!other.output.contains("environment"))
        }
    }

    @Test func `When signed out, git-credential stops git and advises to sign in`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            #expect(try await account("rule", "add", "https://git.example.com", "--session", "work").exitCode == 0)
            let outcome = try await account("git-credential", "get", input: Self.question)
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "quit=1\n")
            #expect(
                outcome.errors
                    == "account: there is no session named work: sign in with `account login --session work`\n")
        }
    }
}
