@testable import EndToEndSupport
import Foundation
import Testing

/// `account rule`, which assigns sessions to URLs for other programs. `RuleURLTests` has the tables of URLs, and
/// `RuleSetTests` tests which rule applies.
@Suite(.queued)
struct RuleTests {
    private struct Rules: Decodable {
        struct Rule: Decodable, Equatable {
            var url: String
            var session: String
            var username: String?
            var directory: String?
        }

        var rules: [Rule]
    }

    private struct Which: Decodable {
        var url: String
        var rule: Rules.Rule?
    }

    private func rules(_ account: Tool) async throws -> [Rules.Rule] {
        let outcome = try await account("rule", "list", "--json")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Rules.self, from: Data(outcome.output.utf8)).rules
    }

    @Test func `Adds, lists, finds and removes rules`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            let none = try await account("rule", "list")
            #expect(none.exitCode == 0)
            #expect(none.output == "")
            #expect(none.errors.contains("There are no rules"))

            let added = try await account("rule", "add", "HTTPS://Git.Example.com:443/team/", "--session", "work")
            #expect(added.exitCode == 0, "\(added)")
            #expect(
                added.errors == """
                    Programs use session work at https://git.example.com/team.
                    No user is signed in to that session yet: run `account login --session work`.

                    """)
            let folder = container.path("work")
            try FileManager.default.createDirectory(atPath: folder + "/deep", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: container.path("link"), withDestinationPath: folder)
            for words in [
                ["https://git.example.com"], ["http://127.0.0.1:8080", "--username", "oauth2"],
                ["https://git.example.com", "--session", "folder", "--directory", container.path("link")],
            ] {
                let outcome = try await account.run(["rule", "add"] + words + ["--json"])
                #expect(outcome.exitCode == 0, "\(outcome)")
            }
            let resolved = try #require(try await rules(account).first { $0.directory != nil }?.directory)
            #expect(resolved.hasSuffix("/work"))
            #expect(
                try await rules(account) == [
                    .init(url: "http://127.0.0.1:8080/", session: "default", username: "oauth2"),
                    .init(url: "https://git.example.com/", session: "default"),
                    .init(url: "https://git.example.com/", session: "folder", directory: resolved),
                    .init(url: "https://git.example.com/team", session: "work"),
                ])
            #expect(
                try await account("rule", "list", "--session", "work").output
                    == """
                    SESSION  URL                           USER NAME  DIRECTORY
                    work     https://git.example.com/team  -          -

                    """)

            for (words, session) in [
                (["https://git.example.com/team/x"], "work"), (["https://git.example.com/teams"], "default"),
                (["https://git.example.com", "--directory", folder + "/deep"], "folder"),
            ] {
                let outcome = try await account.run(["rule", "which"] + words)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == session + "\n")
            }
            let inside = try await Command(
                words: ["env", "-C", folder + "/deep", account.path, "rule", "which", "https://git.example.com"],
                environment: account.environment
            ).run()
            #expect(inside.output == "folder\n", "\(inside)")

            let other = try await account("rule", "which", "https://git.example.com.evil.example", "--json")
            #expect(other.exitCode == 1)
            let document = try JSONDecoder().decode(Which.self, from: Data(other.output.utf8))
            #expect(document.rule == nil)
            #expect(document.url == "https://git.example.com.evil.example/")

            let removed = try await account("rule", "remove", "https://git.example.com", "--session", "folder")
            #expect(removed.exitCode == 0, "\(removed)")
            #expect(try await rules(account).count == 3)
            #expect(try await account("rule", "remove", "https://git.example.com/other").exitCode == 64)
            #expect(try await account("rule", "remove", "https://git.example.com").exitCode == 0)
            #expect(try await rules(account).map(\.url) == ["http://127.0.0.1:8080/", "https://git.example.com/team"])
        }
    }

    @Test func `Rejects an invalid rule and writes nothing`() async throws {
        try await Container.run { container in
            let account = try Tool.account(in: container)
            for words in [
                ["https://alice:hunter2@git.example.com"], ["https://git.example.com", "--username", "a:b"],
                ["https://git.example.com", "--directory", "/nowhere/at/all"],
            ] {
                let outcome = try await account.run(["rule", "add"] + words)
                #expect(outcome.exitCode == 64, "\(outcome)")
                #expect(!outcome.errors.contains("hunter2"))
            }
            #expect(!container.exists(container.home))
        }
    }

    @Test func `Reports invalid rule settings, and prints no token`() async throws {
        try await SignedInUser.run { user in
            #expect(try await user.account("rule", "add", "https://git.example.com").exitCode == 0)
            let path = user.container.home + "/Library/Preferences/Rules.plist"
            try user.container.write("not rules".utf8, to: path)
            for words in [["rule", "list"], ["rule", "add", "https://a.example"], ["git-credential", "get"]] {
                let outcome = try await user.account.run(words, input: "protocol=https\nhost=git.example.com\n\n")
                #expect(outcome.exitCode == 78, "\(outcome)")
                #expect(outcome.output == "")
                #expect(outcome.errors.contains("Rules.plist"))
            }
            #expect(try user.container.entry(path)?.bytes == Array("not rules".utf8))
        }
    }

    @Test func `Signing in to a known service adds a rule for its host`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(["--service", "gitlab", "--device-interval", "1"]) { server in
                let account = try Tool.account(in: container)
                for session in ["default", "work"] {
                    let login = account.command([
                        "login", "--device", "--service", "gitlab", "--issuer", server.issuer, "--client-id",
                        "account-cli", "--session", session,
                    ])
                    var page: String?
                    let outcome = try await login.run { line in
                        if let address = line.firstMatch(of: /^ +(http\S+)$/)?.output.1 { page = String(address) }
                        guard let code = line.firstMatch(of: /^ +([A-Z]{4}-[A-Z]{4})$/)?.output.1 else { return }
                        try await server.decide("approve", String(code), at: page)
                    }
                    #expect(outcome.exitCode == 0, "\(outcome)")
                    // A second sign-in does not replace the rule of the first sign-in.
                    let isTold = outcome.errors.contains("still use session default")
                    #expect(isTold == (session == "work"), "\(outcome)")
                }
                #expect(try await rules(account) == [Rules.Rule(url: server.issuer + "/", session: "default")])
                let answer = try await account(
                    "git-credential", "get", input: "protocol=http\nhost=127.0.0.1:\(server.port)\n\n")
                #expect(answer.output.hasPrefix("username=oauth2\n"), "\(answer)")
            }
        }
    }
}
