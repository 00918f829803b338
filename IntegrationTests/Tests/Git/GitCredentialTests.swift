@testable import EndToEndSupport
import Foundation
import Testing

/// The output and exit code of `account git-credential`, started in the same way as by git. The tables of requests are in
/// `GitCredentialTests` of AccountHelpers, and of URLs in `RuleURLTests`.
@Suite(.queued)
struct GitCredentialTests {
    private static let question = "protocol=https\nhost=git.example.com\n\n"

    private func run(_ test: (SignedInUser) async throws -> Void) async throws {
        try await SignedInUser.run { user in
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

            // The command uses ACCOUNT_TOKEN only for the session in use.
            let account = user.account.with("ACCOUNT_TOKEN", "from-the-environment")
            let own = try await account("git-credential", "get", input: Self.question)
            #expect(own.output == "username=oauth2\npassword=from-the-environment\n", "\(own)")
            let other = try await account.with("ACCOUNT_SESSION", "work")("git-credential", "get", input: Self.question)
            #expect(values(other)["username"] == "alice", "\(other)")
            #expect(!other.output.contains("environment"))
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

    @Test func `Other helpers print no token if localhost is another machine`() async throws {
        try await run { user in
            let url = "http://localhost:8080"
            #expect(try await user.account("rule", "add", url).exitCode == 0)
            let token = try await user.account.storedToken()
            let kubectl =
                #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":"\#(url)"}}}"#
            let account = user.account.with("KUBERNETES_EXEC_INFO", kubectl)
            for words in [["docker-credential", "get"], ["kube-credential"], ["headers", url]] {
                let command = account.command(words)
                let right = try await command.run(input: url)
                #expect(right.exitCode == 0 && right.output.contains(token), "\(right)")
                let misled = try command.runWhereLocalhostLeads(to: "192.0.2.1", in: user.container)
                let outcome = try await misled.run(input: url)
                #expect(outcome.exitCode != 0 && !outcome.output.contains(token), "\(outcome)")
                #expect(outcome.errors.contains("localhost resolves to 192.0.2.1"), "\(outcome)")
            }
        }
    }

    @Test func `git-credential erase of the current token causes a refresh, and no other`() async throws {
        try await run { user in
            let token = try await user.account.storedToken()
            let before = try user.container.files()
            for (operation, input) in [
                ("erase", "password=other\n" + Self.question),
                ("erase", "password=\(token)\nprotocol=https\nhost=evil.example\n\n"),
                ("store", "username=bob\npassword=hunter2\n" + Self.question),
            ] {
                let outcome = try await user.account("git-credential", operation, input: input)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "" && outcome.errors == "")
            }
            #expect(try user.container.files() == before)

            let input = "password=\(token)\n" + Self.question
            #expect(try await user.account("git-credential", "erase", input: input).exitCode == 0)
            #expect(try await user.account("whoami", "--offline").output == "alice\n")
            #expect(try await user.server.log()["refreshes"] == 0)
            let next = try await user.account("git-credential", "get", input: Self.question)
            #expect(values(next)["password"].map { $0 != token && !$0.isEmpty } == true, "\(next)")
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `git-credential prints nothing without a rule, and rejects malformed input`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            #expect(try await account("rule", "add", "https://git.example.com", "--session", "work").exitCode == 0)
            let none = try await account("git-credential", "get", input: "protocol=https\nhost=evil.example\n\n")
            #expect(none.exitCode == 0 && none.output == "" && none.errors == "", "\(none)")

            let malformed = try await account("git-credential", "get", input: String(repeating: "x", count: 5 << 20))
            #expect(malformed.exitCode == 64)
            #expect(malformed.output == "" && malformed.errors.split(separator: "\n").count == 1, "\(malformed.errors)")

            // When signed out, the command stops git.
            let outcome = try await account("git-credential", "get", input: Self.question)
            #expect(outcome.exitCode == 77)
            #expect(outcome.output == "quit=1\n")
            #expect(
                outcome.errors
                    == "account: there is no session named work: sign in with `account login --session work`\n")
        }
    }
}
