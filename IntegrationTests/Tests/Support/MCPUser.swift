import Foundation
import Testing

/// alice, with an MCP server that requires her tokens; see `Fixtures/mcp/tools.py`. She signed in five minutes ago by
/// her clock, so that a rejected token is refreshed at once.
struct MCPUser: Sendable {
    let user: SignedInUser
    let python: String
    let port: Int

    /// The MCP endpoint.
    var url: String { "http://127.0.0.1:\(port)/mcp" }

    /// Runs a test with alice signed in, and a rule for the MCP server.
    ///
    /// - Parameters:
    ///   - hasRule: Whether there is a rule.
    ///   - test: Receives alice.
    static func run(hasRule: Bool = true, _ test: (MCPUser) async throws -> Void) async throws {
        try await Container.run { container in
            let python = try await PythonEnvironment.prepare("mcp", importing: "mcp", in: container)
            try await ExampleServer.run { server in
                let account = try Tool.account(in: container)
                let clock = try await WrongClock(in: container)
                try await SignedInUser(
                    server: server, container: container, account: clock.tool(account, ahead: -300)
                ).signIn()
                try await server.clearLog()
                let user = SignedInUser(server: server, container: container, account: account)
                let alice = MCPUser(user: user, python: python, port: try FreePort.find())
                if hasRule {
                    let rule = try await account("rule", "add", alice.url, "--session", "default")
                    try #require(rule.exitCode == 0, "\(rule)")
                }
                let script = BuiltProducts.fixture("mcp/tools.py")
                let command = Command(
                    words: [python, "-B", script, "--port", String(alice.port), "--issuer", server.issuer],
                    environment: container.environment)
                try await ServerProcess.run(command) { _ in try await test(alice) }
            }
        }
    }

    /// What the MCP server has received.
    struct Log: Decodable {
        struct Request: Decodable {
            let method: String
            let hasToken: Bool
            let version: String?
            let call: String?
            let name: String?
            let region: String?
            let session: String?
            let status: Int?
        }

        let requests: [Request]
    }

    func log() async throws -> Log {
        try JSONDecoder().decode(
            Log.self, from: Data(try await HTTP.get(url.dropLast("/mcp".count) + "/log").text.utf8))
    }

    /// Runs a client; see `Fixtures/mcp/client.py`.
    func client(_ scenario: String, mode: String = "auto") async throws -> [String: JSON] {
        var words = [python, "-B", BuiltProducts.fixture("mcp/client.py"), scenario]
        words += ["--account", user.account.path, "--url", url, "--mode", mode, "--control", user.server.issuer]
        let outcome = try await Command(words: words, environment: user.account.environment).run()
        try #require(outcome.exitCode == 0, "\(outcome)")
        return try JSONDecoder().decode([String: JSON].self, from: Data(outcome.output.utf8))
    }

    /// Runs the bridge with lines of a client, until the end of its input.
    func bridge(_ lines: String...) async throws -> Outcome {
        try await user.account("mcp", url, input: lines.map { $0 + "\n" }.joined())
    }

    static let initialize = """
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},\
        "clientInfo":{"name":"test","version":"1"}}}
        """
}
