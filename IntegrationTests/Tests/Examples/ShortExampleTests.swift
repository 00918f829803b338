@testable import EndToEndSupport
import Foundation
import Subprocess
import Testing

/// The example programs of at most 40 lines. `SignalGuardTests` has the signals during an exchange.
@Suite(.queued)
struct ShortExampleTests {
    /// Runs a test with alice signed in to the example server by the tool's commands.
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
                try await test(tool, server, container)
            }
        }
    }

    @Test func `oauth-login greets the user, even offline, until the sign-out`() async throws {
        try await run("oauth-login", prefix: "HELLO", server: "ISSUER") { hello, server, _ in
            #expect(try await hello().output == "Hello alice.\n")
            try await server.setFaults(Fault(path: "*", status: 503))
            #expect(try await hello().output.hasPrefix("Hello alice. (server error"))
            try await server.clearFaults()

            // A signal during the check at startup does not lose the new tokens.
            try await server.expireTokens()
            try await server.clearLog()
            let gate = try await server.holdRefreshes()
            let outcome = try await hello.command([]).whileRunning { hello in
                try await gate.waitUntilHeld()
                try await hello.send(.terminate)
                try await gate.open()
            }
            #expect(outcome.wasEnded(by: .terminate), "\(outcome)")
            try await server.clearFaults()
            #expect(try await hello("account", "whoami", "--verify").output == "alice\n")
            let log = try await server.log()
            #expect(log["rotations"] == 1 && log["reuseAlarms"] == 0)

            #expect(try await hello("account", "logout").exitCode == 0)
            #expect(try await hello().output == "Hello stranger. Sign in with `hello account login`.\n")
        }
    }

    @Test func `api-client prints the profile and refreshes an expired token`() async throws {
        try await run("api-client", prefix: "PROFILE", server: "ORIGIN") { profile, server, container in
            let output = "Alice Liddell <alice@example.org>\n"
            #expect(try await profile().output == output)
            try await server.clearLog()
            let later = try await WrongClock(in: container).run(profile, ahead: 7200, [])
            #expect(later.output == output)
            #expect(try await server.log()["refreshes"] == 1)
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

    @Test(arguments: ["Sources/oauth-login/Hello.swift", "Sources/api-client/Profile.swift"])
    func `No short example has more than 40 lines`(path: String) throws {
        let source = try String(contentsOfFile: BuiltProducts.example(path), encoding: .utf8)
        #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count <= 41)
    }
}
