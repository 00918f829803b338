@testable import EndToEndSupport
import Foundation
import Testing

/// `account setup`: changes the configuration of other programs, and undoes that. `JSONEditTests`, `KubeChangeTests` and
/// `MCPChangeTests` have the tables of changes.
@Suite(.queued)
struct SetupTests {
    private struct Home: Sendable {
        let container: Container
        let account: Tool

        static func run(_ test: (Home) async throws -> Void) async throws {
            try await Container.run { container in
                let bin = container.path("bin")
                try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: false)
                try FileManager.default.createSymbolicLink(
                    atPath: bin + "/account", withDestinationPath: try BuiltProducts.path(of: "account"))
                let account = Tool(path: bin + "/account", environment: container.environment)
                try await test(Home(container: container, account: account))
            }
        }

        var folder: String { container.root + "/user" }

        func path(_ name: String) -> String { folder + "/" + name }

        func write(_ text: String, to name: String, permissions: Int = 0o600) throws {
            try FileManager.default.createDirectory(
                at: URL(filePath: path(name)).deletingLastPathComponent(), withIntermediateDirectories: true)
            try container.write(Data(text.utf8), to: path(name), permissions: permissions)
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

        /// Runs setup with the command on the search path.
        func setup(_ arguments: String...) async throws -> Outcome {
            try await command(["setup"] + arguments).run()
        }

        /// Returns a command that is on the search path.
        func command(_ arguments: [String]) -> Command {
            account.command(arguments).run(by: "env", "PATH=\(container.path("bin")):\(Command.searchPath)")
        }

        func git(_ arguments: String...) async throws {
            let outcome = try await Command(words: ["git"] + arguments, environment: container.environment).run()
            #expect(outcome.exitCode == 0, "\(outcome)")
        }

        /// Expects that setup changes nothing.
        func expectUnchanged(_ arguments: String..., exitCode: Int32 = 0) async throws {
            let before = try container.files()
            let search = "PATH=\(container.path("bin")):\(Command.searchPath)"
            let outcome = try await account.command(["setup"] + arguments).run(by: "env", search).run()
            #expect(outcome.exitCode == exitCode, "\(outcome)")
            let after = try container.files()
            let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
            #expect(changed.isEmpty, "\(outcome)")
        }
    }

    // MARK: git

    @Test func `Adds the helper to git's configuration once, and removes it`() async throws {
        try await Home.run { home in
            let before = "# mine\n[user]\n\tname = Alice ; a comment\n[credential]\n\thelper = cache\n"
            try home.write(before, to: ".gitconfig", permissions: 0o640)
            try await home.expectUnchanged("git", "--print")
            let shown = try await home.setup("git", "--print")
            #expect(shown.output.contains("git config --global --add credential.helper"), "\(shown)")

            let done = try await home.setup("git")
            #expect(done.exitCode == 0, "\(done)")
            #expect(try home.text(".gitconfig") == before + "\thelper = !account git-credential\n")
            try await home.expectUnchanged("git")

            let undone = try await home.setup("--remove", "git")
            #expect(undone.exitCode == 0, "\(undone)")
            #expect(try home.text(".gitconfig") == before)
            try await home.expectUnchanged("git", "--remove")

            #expect(try await home.setup("git", "--store", "file:").exitCode == 0)
            #expect(try home.text(".gitconfig") == before + "\thelper = !account git-credential --store=file:\n")
            let other = try await home.setup("git", "--store", "etcd://127.0.0.1:1/x")
            #expect(other.exitCode == 78 && other.errors.contains("account setup git --remove"), "\(other)")
            try home.write("[user\n", to: ".gitconfig")
            try await home.expectUnchanged("git", exitCode: 74)
        }
    }

    @Test func `Reports the helper that git asks first, without its password`() async throws {
        try await Home.run { home in
            let helper = "!f() { echo username=x; echo password=hunter2; }; f"
            try await home.git("config", "--global", "credential.helper", helper)
            let added = try await home.setup("git", "https://git.example.com", "--add-rule")
            #expect(added.exitCode == 0, "\(added)")
            #expect(try await home.account("rule", "which", "https://git.example.com").output == "default\n")

            let problem = "asks a shell command first for https://git.example.com/, so it never asks this tool"
            let doctor = try await home.command(["doctor", "--programs"]).run()
            #expect(doctor.exitCode == 78, "\(doctor)")
            for text in [added.errors, doctor.output] {
                #expect(text.contains(problem), "\(text)")
                #expect(!text.contains("hunter2"), "\(text)")
                #expect(
                    text.contains("`git config --global --replace-all credential.https://git.example.com.helper ''`"))
            }

            // The advice helps.
            let setting = "credential.https://git.example.com.helper"
            try await home.git("config", "--global", "--replace-all", setting, "")
            try await home.git("config", "--global", "--add", setting, "!account git-credential")
            let well = try await home.setup("git")
            #expect(well.errors.contains("asks this tool first for https://git.example.com/"), "\(well)")

            // So does the setup of another tool, which discards all helpers.
            try await home.git("config", "--global", "--replace-all", setting, "")
            let discarded = try await home.setup("git")
            #expect(discarded.errors.contains("Git never asks this tool for https://git.example.com/"), "\(discarded)")
        }
    }

    @Test func `Offers to add the missing rule on a terminal`() async throws {
        try await Home.run { home in
            let words = ["setup", "docker", "ghcr.io"]
            let silent = try await home.command(words).run()
            #expect(silent.errors.contains("`account rule add https://ghcr.io/`"), "\(silent)")
            let refused = try await Terminal.run(home.command(words), .wait("[y/N] "), .type("n"), .enter)
            #expect(refused.exitCode == 0 && refused.screen.contains("session default"), "\(refused)")
            #expect(try await home.account("rule", "which", "https://ghcr.io").exitCode == 1)
            let accepted = try await Terminal.run(home.command(words), .wait("[y/N] "), .type("y"), .enter)
            #expect(accepted.exitCode == 0, "\(accepted)")
            #expect(try await home.account("rule", "which", "https://ghcr.io").output == "default\n")
            let again = try await Terminal.run(home.command(words))
            #expect(!again.screen.contains("[y/N]"), "\(again)")
        }
    }

    // MARK: docker

    @Test func `Writes the key that docker looks up, and replaces one that it does not`() async throws {
        try await Home.run { home in
            let old = "{\n  \"credHelpers\": {\n    \"https://ghcr.io/\": \"account\"\n  }\n}\n"
            try home.write(old, to: ".docker/config.json")
            let doctor = try await home.command(["doctor", "--programs"]).run()
            #expect(doctor.exitCode == 78 && doctor.output.contains("`account setup docker ghcr.io`"), "\(doctor)")
            let done = try await home.setup("docker", "https://GHCR.io:443/", "docker.io")
            #expect(done.exitCode == 0, "\(done)")
            let entries = "\"ghcr.io\": \"account\",\n    \"https://index.docker.io/v1/\": \"account\""
            #expect(
                try home.text(".docker/config.json") == "{\n  \"credHelpers\": {\n    \(entries)\n  }\n}\n")
            #expect(done.errors.contains("`account rule add https://index.docker.io/`"), "\(done)")
            try await home.expectUnchanged("docker", "ghcr.io", "registry-1.docker.io")
            #expect(try await home.setup("docker", "--remove", "https://ghcr.io", "index.docker.io").exitCode == 0)
            #expect(try home.text(".docker/config.json") == "{}\n")
            try await home.expectUnchanged("docker", "library/alpine", exitCode: 64)
        }
    }

    @Test func `Adds registries to docker's configuration and keeps other settings`() async throws {
        try await Home.run { home in
            let before = "{\n\t\"auths\": {\"a\":  {}},\n\t\"credsStore\": \"pass\",\n\t\"n\": 1.0\n}"
            try home.write(before, to: ".docker/config.json", permissions: 0o640)
            try await home.expectUnchanged("docker", "ghcr.io", "--print")
            let done = try await home.setup("docker", "ghcr.io", "registry.example:5000")
            #expect(done.exitCode == 0, "\(done)")
            let helpers = "\n\t\t\"ghcr.io\": \"account\",\n\t\t\"registry.example:5000\": \"account\"\n\t"
            #expect(
                try home.text(".docker/config.json")
                    == before.dropLast(2) + ",\n\t\"credHelpers\": {\(helpers)}\n}")
            #expect(try home.container.entry(home.path(".docker/config.json"))?.permissions == 0o640)
            try await home.expectUnchanged("docker", "ghcr.io")

            #expect(try await home.setup("docker", "--remove").exitCode == 0)
            #expect(try home.text(".docker/config.json") == before)
            // docker passes no options to its helper.
            let store = try await home.setup("docker", "ghcr.io", "--store", "file:")
            #expect(store.exitCode == 64 && store.errors.contains("ACCOUNT_STORE"), "\(store)")
            for refused in ["{", "{\"credHelpers\":{\"ghcr.io\":\"gh\"}}"] {
                try home.write(refused, to: ".docker/config.json")
                let outcome = try await home.setup("docker", "ghcr.io")
                #expect([65, 78].contains(outcome.exitCode), "\(outcome)")
                #expect(outcome.errors.contains(home.path(".docker/config.json")), "\(outcome)")
                #expect(try home.text(".docker/config.json") == refused)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: home.path(".docker")) == ["config.json"])
        }
    }

    @Test func `Creates docker's configuration for the registries with a rule`() async throws {
        try await Home.run { home in
            try await home.expectUnchanged("docker", exitCode: 64)
            #expect(try await home.account("rule", "add", "https://ghcr.io", "--session", "default").exitCode == 0)
            #expect(try await home.setup("docker").exitCode == 0)
            #expect(
                try home.text(".docker/config.json")
                    == "{\n  \"credHelpers\": {\n    \"ghcr.io\": \"account\"\n  }\n}\n")
            #expect(try home.container.entry(home.path(".docker/config.json"))?.permissions == 0o600)
        }
    }

    @Test func `Writes through a link, and refuses one that leads nowhere`() async throws {
        try await Home.run { home in
            try home.write("{}\n", to: "dotfiles/docker.json", permissions: 0o644)
            try FileManager.default.createDirectory(atPath: home.path(".docker"), withIntermediateDirectories: false)
            let link = home.path(".docker/config.json")
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "../dotfiles/docker.json")
            #expect(try await home.setup("docker", "ghcr.io").exitCode == 0)
            #expect(try home.container.entry(link)?.kind == .typeSymbolicLink)
            #expect(try home.text("dotfiles/docker.json").contains("ghcr.io"))
            #expect(try home.container.entry(home.path("dotfiles/docker.json"))?.permissions == 0o644)
            #expect(try FileManager.default.contentsOfDirectory(atPath: home.path("dotfiles")) == ["docker.json"])

            try FileManager.default.removeItem(atPath: home.path("dotfiles/docker.json"))
            try await home.expectUnchanged("docker", "ghcr.io", exitCode: 64)
        }
    }

    @Test(.enabled(if: Privileges.isRoot, "only root can give a link away"), arguments: ["file", "folder/target.json"])
    func `Changes no file behind another user's link in a sticky folder`(place: String) async throws {
        try await Home.run { home in
            let sticky = home.container.path("sticky")
            try FileManager.default.createDirectory(atPath: sticky, withIntermediateDirectories: false)
            try home.container.setPermissions(0o1777, of: sticky)
            try home.write("{}\n", to: "target.json", permissions: 0o644)
            for (name, target) in [("file", "../user/target.json"), ("folder", "../user")] {
                try FileManager.default.createSymbolicLink(atPath: "\(sticky)/\(name)", withDestinationPath: target)
                try #require(lchown("\(sticky)/\(name)", 65_534, 65_534) == 0)
            }
            let url = "https://api.example.com/mcp"
            try await home.expectUnchanged("mcp", url, "--file", "\(sticky)/\(place)", exitCode: 65)
            try await home.expectUnchanged("mcp", "--remove", "--file", "\(sticky)/\(place)", exitCode: 65)
            #expect(try await home.setup("mcp", url, "--file", home.path("target.json")).exitCode == 0)
        }
    }

    // MARK: Other programs with the same name

    @Test func `Removes only the entries that it added`() async throws {
        try await Home.run { home in
            let other = home.path("other/account")
            try home.write("#!/bin/sh\n", to: "other/account", permissions: 0o755)
            let git = "[credential]\n\thelper = !\(other) git-credential\n\thelper = !account git-credential -x\n"
            let docker = #"{"credHelpers":{"a.example":"account2","b.example":"other/account"}}"#
            let server = #""command":"\#(other)","args":["mcp","https://api.example.com/mcp"]"#
            let mcp = #"{"mcpServers":{"other":{\#(server)},"changed":{"command":"account","args":["mcp"],"env":{}}}}"#
            try home.write(git, to: ".gitconfig")
            try home.write(docker, to: ".docker/config.json")
            try home.write(mcp, to: "mcp.json")
            let file = home.path("mcp.json")
            for words in [["git"], ["docker", "ghcr.io"], ["mcp", "https://api.example.com/mcp", "--file", file]] {
                let added = try await home.account.command(["setup"] + words).run()
                #expect(added.exitCode == 0, "\(added)")
            }
            #expect(try home.text(".gitconfig") == git + "\thelper = !account git-credential\n")
            for words in [["git"], ["docker"], ["mcp", "--file", file]] {
                let removed = try await home.account.command(["setup", "--remove"] + words).run()
                #expect(removed.exitCode == 0, "\(removed)")
            }
            #expect(try home.text(".gitconfig") == git)
            #expect(try home.text(".docker/config.json") == docker)
            #expect(try home.text("mcp.json") == mcp)
            try await home.expectUnchanged("git", "--remove")
            try await home.expectUnchanged("docker", "--remove")
            try await home.expectUnchanged("mcp", "--file", file, "--remove", exitCode: 78)
        }
    }

    // MARK: kubectl

    @Test func `Adds a user to the kubeconfig with kubectl, and removes it`() async throws {
        try await Home.run { home in
            try home.write(
                """
                apiVersion: v1
                kind: Config
                users:
                - name: other
                  user:
                    token: x

                """, to: ".kube/config")
            try await home.expectUnchanged("kubectl", "--print")
            let done = try await home.setup("kubectl", "--session", "work")
            #expect(done.exitCode == 0, "\(done)")
            let text = try home.text(".kube/config")
            #expect(text.contains("command: account") && text.contains("- --session=work"), "\(text)")
            #expect(text.contains("provideClusterInfo: true") && text.contains("name: other"), "\(text)")
            try await home.expectUnchanged("kubectl", "--session", "work")
            try await home.expectUnchanged("kubectl", "--name", "other", exitCode: 78)

            #expect(try await home.setup("--remove", "kubectl").exitCode == 0)
            let rest = try home.text(".kube/config")
            #expect(!rest.contains("account") && rest.contains("name: other"), "\(rest)")
            try await home.expectUnchanged("kubectl", "--remove")
            try await home.expectUnchanged("kubectl", "--name", "other", "--remove")
        }
    }

    // MARK: MCP clients

    @Test func `Prints the entry of an MCP server, or writes it to a file`() async throws {
        try await Home.run { home in
            let url = "https://api.example.com/mcp?tenant=1"
            let entry = """
                {
                  "mcpServers": {
                    "api.example.com": {
                      "command": "account",
                      "args": ["mcp", "\(url)"]
                    }
                  }
                }

                """
            let shown = try await home.setup("mcp", url)
            #expect(shown.exitCode == 0 && shown.output == entry, "\(shown)")
            #expect(shown.errors.contains("`account rule add https://api.example.com/mcp"), "\(shown)")

            let file = home.path("mcp.json")
            #expect(try await home.setup("mcp", url, "--file", file).exitCode == 0)
            #expect(try home.text("mcp.json") == entry)
            try await home.expectUnchanged("mcp", url, "--file", file)
            #expect(try await home.setup("--remove", "mcp", "--file", file).exitCode == 0)
            #expect(try home.text("mcp.json") == "{}\n")
            try await home.expectUnchanged("mcp", "--file", file, "--remove")
        }
    }

    @Test func `Keeps the comments of an MCP client, and writes where it reads`() async throws {
        try await Home.run { home in
            let url = "https://api.example.com/mcp"
            let before = """
                {
                  // Servers of the team.
                  "servers": {
                    "other": {"command": "x"}, // keep
                  },
                }

                """
            try home.write(before, to: ".vscode/mcp.json")
            let file = home.path(".vscode/mcp.json")
            let done = try await home.setup("mcp", url, "--file", file, "--add-rule")
            #expect(done.exitCode == 0 && done.errors.contains("Programs use session default at \(url)"), "\(done)")
            let entry = """
                ,
                    "api.example.com": {
                      "type": "stdio",
                      "command": "account",
                      "args": ["mcp", "\(url)"]
                    }
                """
            #expect(
                try home.text(".vscode/mcp.json")
                    == before.replacing(#"{"command": "x"}"#, with: #"{"command": "x"}"# + entry))
            try await home.expectUnchanged("mcp", url, "--file", file)
            #expect(try await home.setup("--remove", "mcp", "--file", file).exitCode == 0)
            #expect(try home.text(".vscode/mcp.json") == before)
        }
    }
}
