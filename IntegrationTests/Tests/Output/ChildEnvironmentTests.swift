@testable import EndToEndSupport
import Foundation
import Testing

/// The environment of each program that a command starts. `SecretVariablesTests` has the table of variables, `ExecTests`
/// tests the variables that the user requests, and `KeepTests` the notification on the desktop.
@Suite(.queued)
struct ChildEnvironmentTests: KeyScenes {
    private static let secrets: Set = [
        "ACCOUNT_TOKEN", "ACCOUNT_KEY", "ACCOUNT_CLIENT_SECRET", "ACCOUNT_PASSPHRASE", "CREDENTIALS_DIRECTORY",
        "ETCDCTL_USER", "ETCDCTL_PASSWORD", "ETCDCTL_KEY", "ETCDCTL_CERT",
    ]

    private static let secret = "a-secret-of-the-tests"

    /// Returns the command with a secret in each variable, and with scripts in place of other programs. Each script first
    /// writes its environment to a file.
    ///
    /// - Parameter isGivenToken: Whether `ACCOUNT_TOKEN` is set, which some commands refuse.
    private func tool(
        _ account: Tool, in container: Container, _ scripts: [String: String], isGivenToken: Bool = false
    ) throws -> Tool {
        let folder = container.path("programs")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, script) in scripts {
            let file = place(of: name, in: container)
            let text = "#!/bin/sh\nenv >'\(file).new' && mv '\(file).new' '\(file)'\n\(script)\n"
            try container.write(text.utf8, to: "\(folder)/\(name)", permissions: 0o700)
        }
        var account = account.with("MINE", "kept").with("BROWSER", folder + "/browser")
        for name in Self.secrets where name != "ACCOUNT_TOKEN" || isGivenToken {
            account = account.with(name, Self.secret)
        }
        return Tool(
            path: "env", environment: account.environment,
            prefix: ["PATH=\(folder):\(Command.searchPath)", account.path] + account.prefix)
    }

    private func place(of program: String, in container: Container) -> String {
        container.path("environment of \(program)")
    }

    private func isStarted(_ program: String, in container: Container) -> Bool {
        FileManager.default.fileExists(atPath: place(of: program, in: container))
    }

    private func expectSecrets(
        _ kept: Set<String>, of program: String, in container: Container,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let file = place(of: program, in: container)
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("MINE=kept"), "\(program)", sourceLocation: sourceLocation)
        let found = lines.filter { $0.hasSuffix("=" + Self.secret) }.map { String($0.prefix { $0 != "=" }) }
        #expect(Set(found) == kept, "\(program)", sourceLocation: sourceLocation)
        try FileManager.default.removeItem(atPath: file)
    }

    @Test func `A key program gets no secrets but those that may open its key`() async throws {
        try await run { account, container in
            let account = try tool(account, in: container, ["print-key": "echo \(Self.key)"])
            let added = try await account("key", "add", "command", "--", "print-key")
            #expect(added.exitCode == 0, "\(added)")
            try expectSecrets(["ACCOUNT_PASSPHRASE", "CREDENTIALS_DIRECTORY"], of: "print-key", in: container)
        }
    }

    @Test func `A program that prints an assertion gets no secrets`() async throws {
        try await Container.run { container in
            try await ExampleServer.run(WorkloadPlatform.serverOptions) { server in
                let account = try tool(
                    .account(in: container), in: container, ["print-assertion": "echo not.an.assertion"])
                let login = try await account(
                    "login", "--workload", "command print-assertion", "--issuer", server.issuer, "--client-id",
                    "account-cli", "--workload-grant", "jwt-bearer")
                #expect(login.exitCode != 0, "\(login)")
                try expectSecrets([], of: "print-assertion", in: container)
            }
        }
    }

    @Test func `The browser and the program that finds its folder get no secrets`() async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                let scripts = ["browser": "", "xdg-user-dir": "echo \"$HOME\""]
                let account = try tool(.account(in: container), in: container, scripts)
                // The server refuses the client secret after the browser was started.
                _ = try await account.logIn(["--issuer", server.issuer]) { address in
                    try await waitUntil("the browser is started") { isStarted("browser", in: container) }
                    _ = try await HTTP.get(try await server.redirection(from: address))
                }
                for program in scripts.keys { try expectSecrets([], of: program, in: container) }
            }
        }
    }

    @Test func `Programs that setup and doctor run get no secrets`() async throws {
        try await Container.run { container in
            let scripts = ["git": "", "kubectl": "if [ \"$2\" = view ]; then echo '{}'; fi"]
            let given = try tool(.account(in: container), in: container, scripts, isGivenToken: true)
            for program in ["git", "kubectl"] {
                let setup = try await given("setup", program)
                #expect(setup.exitCode == 0, "\(setup)")
                try expectSecrets([], of: program, in: container)
            }
            let account = try tool(.account(in: container), in: container, scripts)
            _ = try await account("doctor", "--programs")
            try expectSecrets([], of: "git", in: container)
        }
    }

    @Test func `git gets no secrets when it is asked for its helpers`() async throws {
        try await Container.run { container in
            let question = place(of: "git", in: container)
            let answers = "printf 'credential.helper\\n!account git-credential\\0'"
            let script = """
                case "$3" in
                config) \(answers) ;;
                credential) mv '\(question)' '\(place(of: "git credential fill", in: container))' ;;
                esac
                """
            var account = try tool(.account(in: container), in: container, ["git": script])
            // Variables with which a helper could open a window, or git use another repository.
            for name in ["DISPLAY", "WAYLAND_DISPLAY", "GIT_DIR", "GIT_CONFIG_PARAMETERS"] {
                account = account.with(name, Self.secret)
            }
            let rule = try await account("rule", "add", "https://git.example.com")
            try #require(rule.exitCode == 0, "\(rule)")
            _ = try await account("doctor", "--programs")
            try expectSecrets([], of: "git credential fill", in: container)
        }
    }

    @Test func `The program of exec gets no secrets`() async throws {
        try await SignedInUser.run { user in
            let account = try tool(user.account, in: user.container, ["program": ""])
            let exec = try await account("exec", "program")
            #expect(exec.exitCode == 0, "\(exec)")
            try expectSecrets([], of: "program", in: user.container)
        }
    }
}
