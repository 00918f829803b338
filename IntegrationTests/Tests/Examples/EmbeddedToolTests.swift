@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// Tools that embed AccountKit in the way the README shows. The session survives a signal at any moment.
@Suite(.queued)
struct EmbeddedToolTests {
    /// Runs a test with alice signed in to a tool and her access token expired.
    private func run(
        _ product: String, prefix: String, server variable: String,
        _ test: (_ tool: Tool, _ server: ExampleServer, _ container: Container) async throws -> Void
    ) async throws {
        try await Container.run { container in
            try await ExampleServer.run { server in
                var environment = container.environment
                environment["ACCOUNT_HOME"] = nil
                environment[prefix + "_HOME"] = container.home
                environment[prefix + "_" + variable] = server.issuer
                let tool = Tool(path: try BuiltProducts.path(of: product), environment: environment)
                let login = try await tool(
                    "account", "login", "--username", "alice", "--password-stdin",
                    input: ExampleServer.alicePassword + "\n")
                try #require(login.exitCode == 0, "\(login)")
                try await server.clearLog()
                try await server.expireTokens()
                try await test(tool, server, container)
            }
        }
    }

    private func expectSignedIn(_ tool: Tool, _ server: ExampleServer) async throws {
        try await server.clearFaults()
        let whoami = try await tool("account", "whoami", "--verify")
        #expect(whoami.output == "alice\n", "\(whoami)")
        let log = try await server.log()
        #expect(log["rotations"] == 1)
        #expect(log["reuseAlarms"] == 0)
    }

    static let signals: [Signal] = [.interrupt, .terminate, .terminalClosed, .quit]

    @Test(arguments: signals)
    func `Keeps the session if a signal arrives during an app's startup check`(signal: Signal) async throws {
        try await run("oauth-login", prefix: "HELLO", server: "ISSUER") { hello, server, _ in
            let gate = try await server.holdRefreshes()
            let outcome = try await hello.command([]).whileRunning { hello in
                try await gate.waitUntilHeld()
                try await hello.send(signal)
                try await gate.open()
            }
            #expect(outcome.wasEnded(by: signal), "\(outcome)")
            try await expectSignedIn(hello, server)
        }
    }

    @Test func `An app prints an error with a hint and an exit code`() async throws {
        try await run("api-client", prefix: "PROFILE", server: "ORIGIN") { profile, server, _ in
            #expect(try await profile("account", "logout").exitCode == 0)
            let outcome = try await profile()
            #expect(outcome.exitCode == 77, "\(outcome)")
            #expect(outcome.errors.hasPrefix("api-client: "), "\(outcome)")
            #expect(outcome.errors.hasSuffix("\n  Run `api-client account login`.\n"), "\(outcome)")
            let usage = try await profile("--nonsense")
            #expect(usage.exitCode == 64, "\(usage)")
            #expect(usage.errors.contains("\n  See `profile --help`."), "\(usage)")
            #expect(try await profile("--help").exitCode == 0)
        }
    }
}
