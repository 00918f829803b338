@testable import EndToEndSupport
import Testing

/// A token goes where its sign-in was for. `RuleSignInTests` of the commands has the tables.
@Suite(.queued)
struct RuleOfSignInTests {
    private func headers(_ user: APIUser, _ url: String) async throws -> Outcome {
        try await user.account("headers", url)
    }

    @Test func `Two sign-ins by URL get two sessions, and no API gets the other's token`() async throws {
        try await APIUser.run { user in
            try await ExampleServer.run(["--api", "--registration", "managed", "--device-interval", "1"]) { other in
                let api = other.issuer + "/mcp"
                try await user.signIn()
                let second = try await user.account.logInOnDevice(at: other, [api])
                #expect(second.exitCode == 0, "\(second)")
                #expect(second.errors.contains("goes to session 127.0.0.1;"), "\(second)")
                let first = try await user.account.storedToken()
                let token = try await user.account.storedToken(session: "127.0.0.1")
                #expect(try await headers(user, user.api).output.contains("Bearer \(first)"))
                #expect(try await headers(user, api).output.contains("Bearer \(token)"))
                // A repeated sign-in uses the same session.
                let repeated = try await user.account.logInOnDevice(at: other, [api])
                #expect(repeated.errors.contains("goes to session 127.0.0.1;"), "\(repeated)")

                // The user names the session, so its sign-in is replaced, and the first API gets no other token.
                let replaced = try await user.account.logInOnDevice(at: other, [api, "--session", "default"])
                #expect(replaced.exitCode == 0 && replaced.errors.contains("no longer get a token"), "\(replaced)")
                try await user.server.clearLog()
                let refused = try await headers(user, user.api)
                #expect(refused.exitCode == 78 && refused.output.isEmpty, "\(refused)")
                #expect(refused.errors.contains("`account login \(user.api) --session NAME`"), "\(refused)")
                let git = try await user.account(
                    "git-credential", "get", input: "protocol=http\nhost=127.0.0.1:\(user.server.port)\npath=mcp\n\n")
                #expect(git.exitCode == 78 && git.output == "quit=1\n", "\(git)")
                let docker = try await user.account("docker-credential", "get", input: user.api)
                #expect(docker.exitCode == 1 && docker.output.contains("is not sent there"), "\(docker)")
                let cluster =
                    #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#
                    + #""spec":{"cluster":{"server":"\#(user.api)"}}}"#
                let kubectl = user.account.with("KUBERNETES_EXEC_INFO", cluster)
                for arguments in [[], ["--id-token"]] {
                    let kube = try await kubectl.run(["kube-credential"] + arguments)
                    #expect(kube.exitCode == 78 && kube.output.isEmpty, "\(kube)")
                    #expect(kube.errors.contains("is not sent there"), "\(kube)")
                }
                let stored = try await user.account.storedToken()
                #expect(!docker.output.contains(stored) && !docker.errors.contains(stored))
                let mcp = try await user.account.run(["mcp", user.api], input: MCPMessage.initialize + "\n")
                #expect(mcp.output.contains(#""code":78"#), "\(mcp)")
                #expect(try await user.server.log()["/mcp"] == 0)
                #expect(try await user.account("rule", "which", user.api).exitCode == 78)

                // The command of the message helps.
                let login = try await user.account.logInOnDevice(at: user.server, [user.api, "--session", "first"])
                #expect(login.exitCode == 0, "\(login)")
                let own = try await user.account.storedToken(session: "first")
                #expect(try await headers(user, user.api).output.contains("Bearer \(own)"))
            }
        }
    }

    @Test func `Asks on a terminal before a sign-in for another API`() async throws {
        try await APIUser.run { user in
            try await ExampleServer.run(["--api", "--registration", "managed", "--device-interval", "1"]) { other in
                try await user.signIn()
                let api = other.issuer + "/mcp"
                let asked = try await Terminal.run(
                    user.account.command(["login", "--device", api]),
                    .wait("in another session, 127.0.0.1? [Y/n] "), .enter, .wait("enter this code"), .controlC)
                #expect(!asked.screen.contains("Replace"), "\(asked)")
                let named = try await Terminal.run(
                    user.account.command(["login", "--device", api, "--session", "default"]),
                    .wait("Replace it with a sign-in for"), .enter)
                #expect(named.exitCode == 130, "\(named)")
                #expect(try await headers(user, user.api).exitCode == 0)
            }
        }
    }
}
