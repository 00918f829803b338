@testable import EndToEndSupport
import Foundation
import Testing

/// git(1) with `account git-credential` as its credential helper. `GitCredentialTests` of AccountHelpers has the tables of
/// requests, and `RuleURLTests` the URLs that a rule covers.
@Suite(.queued)
struct GitTests {
    /// Runs a test with alice's git and a git server that accepts her tokens.
    private func run(
        hasRule: Bool = true, _ test: (_ user: SignedInUser, _ git: Tool, _ server: GitServer) async throws -> Void
    ) async throws {
        try await SignedInUser.run { user in
            try await GitServer.run(in: user.container, issuer: user.server.issuer) { server in
                if hasRule { try await addRule(user.account, server.url) }
                try await test(user, try Tool.git(in: user.container), server)
            }
        }
    }

    private func addRule(_ account: Tool, _ url: String) async throws {
        let outcome = try await account("rule", "add", url)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Reports to the helper, through git, that a server has rejected a token. The next command that prints the token
    /// refreshes it first.
    private func refuse(_ token: String, _ git: Tool, _ server: GitServer) async throws {
        let address = server.url.dropFirst("http://".count)
        let outcome = try await git(
            "credential", "reject", input: "protocol=http\nhost=\(address)\nusername=alice\npassword=\(token)\n\n")
        #expect(outcome.exitCode == 0, "\(outcome)")
    }

    private func expectOneReason(_ outcome: Outcome, _ reason: String) {
        #expect(outcome.exitCode == 128, "\(outcome)")
        #expect(outcome.errors.contains(reason), "\(outcome)")
        #expect(outcome.errors.contains("told us to quit"), "\(outcome)")
        #expect(!outcome.errors.contains("could not read"), "git has asked for a name: \(outcome)")
    }

    @Test func `git clones, commits, pushes and fetches without a prompt`() async throws {
        try await run { user, git, server in
            let (first, second) = (user.container.path("first"), user.container.path("second"))
            for words in [
                ["clone", "--quiet", server.repository, first], ["-C", first, "commit", "-qm", "One", "--allow-empty"],
                ["-C", first, "push", "--quiet", "origin", "main"], ["clone", "--quiet", server.repository, second],
                ["-C", first, "commit", "-qm", "Two", "--allow-empty"], ["-C", first, "push", "--quiet"],
                ["-C", second, "fetch", "--quiet"],
            ] {
                let outcome = try await git.run(words)
                #expect(outcome.exitCode == 0, "\(outcome)")
                #expect(outcome.output == "")
            }
            let log = try await git("-C", second, "log", "--format=%s", "origin/main")
            #expect(log.output == "Two\nOne\n", "\(log)")
            let authorizations = try await server.authorizations()
            #expect(authorizations.count >= 5)
            #expect(authorizations.allSatisfy { $0.hasPrefix("Basic ") })
            #expect(try await user.server.log()["refreshes"] == 0)

            // Only the archive contains the token.
            let token = Array(try await user.account.storedToken().utf8)
            for (name, entry) in try user.container.files() {
                #expect(entry.bytes.firstRange(of: token) == nil, "\(name)")
            }

            // After a rejected token, the next git command refreshes the token.
            try await user.server.expireTokens()
            let refused = try await git("ls-remote", server.repository)
            #expect(refused.exitCode == 128, "\(refused)")
            #expect(try await user.server.log()["refreshes"] == 0)
            #expect(try await git("ls-remote", server.repository).exitCode == 0)
            #expect(try await user.server.log()["refreshes"] == 1)
        }
    }

    @Test func `git sends no token to a host without a rule, even after a redirect`() async throws {
        try await run { user, git, server in
            try await GitServer.run(in: user.container, name: "elsewhere") { other in
                let outcome = try await git("ls-remote", other.repository)
                #expect(outcome.exitCode == 128, "\(outcome)")
                #expect(outcome.errors.contains("could not read Username"), "\(outcome)")

                #expect(try await git("ls-remote", server.repository).exitCode == 0)
                try await server.redirect(to: other.url)
                #expect(try await git("ls-remote", server.repository).exitCode == 128)

                let requests = try await other.log()
                #expect(requests.count >= 2)
                #expect(requests.compactMap(\.authorization) == [])
            }
        }
    }

    @Test func `git fails immediately without a password prompt, with one reason`() async throws {
        try await SignedInUser.runWithoutServer { account, container, _ in
            let git = try Tool.git(in: container)
            try await GitServer.run(in: container) { server in
                try await addRule(account, server.url)
                #expect(try await git("ls-remote", server.repository).exitCode == 0)
                let count = try await server.authorizations().count

                // Offline, git uses a valid token, and fails on a rejected token.
                try await refuse(try await account.storedToken(), git, server)
                expectOneReason(try await git("ls-remote", server.repository), "you are still signed in")
                #expect(try await account("whoami", "--offline").output == "alice\n")

                #expect(try await account("logout").exitCode == 0)
                expectOneReason(try await git("ls-remote", server.repository), "sign in with `account login`")
                #expect(try await server.authorizations().count == count)
            }
        }
    }

    @Test func `With a locked archive, git fails immediately with advice to unlock`() async throws {
        try await run { user, git, server in
            let added = try await Terminal.run(
                user.account.command(["key", "add", "passphrase"]), .wait("New passphrase: "), .type("correct horse"),
                .enter, .wait("Confirm passphrase: "), .type("correct horse"), .enter)
            #expect(added.exitCode == 0, "\(added)")
            let removed = try await Terminal.run(
                user.account.command(["key", "remove", "file"]), .wait("Passphrase: "), .type("correct horse"), .enter)
            #expect(removed.exitCode == 0, "\(removed)")

            // Use a terminal, on which the command could prompt.
            let session = try await Terminal.run(git.command(["ls-remote", server.repository]))
            #expect(session.exitCode == 128, "\(session)")
            #expect(session.screen.contains("`account key unlock --session default`"), "\(session)")
            #expect(session.screen.contains("told us to quit"), "\(session)")
            #expect(!session.screen.contains("Passphrase"), "\(session)")

            // The other helpers do the same.
            for (words, code) in [
                (["kube-credential", "--any-cluster"], 65), (["docker-credential", "get"], 1), (["exec", "env"], 65),
            ] as [([String], Int32)] {
                let address = String(server.url.dropFirst("http://".count))
                let command = Command(
                    words: ["sh", "-c", "echo \(address) | \"$@\"", "sh", user.account.path] + words,
                    environment: user.account.environment)
                let session = try await Terminal.run(command)
                #expect(session.exitCode == code, "\(session)")
                #expect(session.screen.contains("account key unlock"), "\(session)")
                #expect(!session.screen.contains("Passphrase"), "\(session)")
            }
        }
    }

    @Test func `git advises useHttpPath if only a rule with a path matches`() async throws {
        try await run(hasRule: false) { user, git, server in
            try await addRule(user.account, server.url + "/team")
            let outcome = try await git("ls-remote", server.repository)
            #expect(outcome.exitCode == 128, "\(outcome)")
            #expect(
                outcome.errors.contains("git config --global credential.\(server.url).useHttpPath true"), "\(outcome)")

            #expect(try await git("config", "--global", "credential.\(server.url).useHttpPath", "true").exitCode == 0)
            #expect(try await git("ls-remote", server.repository).exitCode == 0)
        }
    }
}
