@testable import EndToEndSupport
import Foundation

/// alice with `reading-list`, signed in to a separate server, with a Kinto server behind a proxy.
struct Reader: Sendable {
    let kinto: KintoServer
    /// The proxy between the tool and Kinto.
    let proxy: LossyProxy
    let tool: Tool

    /// The tool, without a reachable Kinto server.
    let offline: Tool

    static func run<Result: Sendable>(_ test: (Reader) async throws -> Result) async throws -> Result {
        try await Container.run { container in
            try await ExampleServer.run { server in
                try await KintoServer.run(trusting: server, in: container) { kinto in
                    try await LossyProxy.run(upstream: URL(string: kinto.origin)?.port ?? 0) { proxy in
                        var environment = container.environment
                        environment["ACCOUNT_HOME"] = nil
                        environment["READING_LIST_HOME"] = container.home
                        environment["READING_LIST_ISSUER"] = server.issuer
                        environment["READING_LIST_KINTO"] = "http://127.0.0.1:\(proxy.port)"
                        let tool = Tool(path: try BuiltProducts.path(of: "reading-list"), environment: environment)
                        let nowhere = "http://127.0.0.1:\(try FreePort.find())"
                        let reader = Reader(
                            kinto: kinto, proxy: proxy, tool: tool, offline: tool.with("READING_LIST_KINTO", nowhere))
                        try await reader.signIn()
                        return try await test(reader)
                    }
                }
            }
        }
    }

    func signIn() async throws {
        _ = try await done(
            tool.run(
                ["account", "login", "--username", "alice", "--password-stdin"],
                input: ExampleServer.alicePassword + "\n"))
    }

    /// Returns the outcome of a command that must succeed.
    @discardableResult func done(_ outcome: Outcome) throws -> Outcome {
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return outcome
    }

    /// A line of a list.
    struct Row: Equatable {
        let id: String
        let title: String
        let isPending: Bool
    }

    func list(_ arguments: String..., with tool: Tool? = nil) async throws -> [Row] {
        let outcome = try done(try await (tool ?? self.tool).run(["list"] + arguments))
        return outcome.output.split(separator: "\n").map { line in
            let parts = line.split(separator: "  ", maxSplits: 1).map(String.init)
            return Row(
                id: parts[0],
                title: parts[1].replacing("  (not sent yet)", with: "").replacing("  (read)", with: ""),
                isPending: line.hasSuffix("  (not sent yet)"))
        }
    }

    /// Stores a change without the network.
    func makeOffline(_ arguments: String...) async throws {
        let outcome = try done(try await offline.run(arguments))
        guard outcome.errors.hasPrefix("Stored, but not sent yet") else { throw Unexpected(outcome) }
    }

    /// The titles of the records at the service.
    func titles() async throws -> [String] { try await kinto.articles().map { $0.title ?? "" } }

    /// A line of `account pending`.
    struct Pending: Decodable, Equatable {
        let kind: String
        let state: String
    }

    func pending() async throws -> [Pending] {
        let outcome = try done(try await offline("account", "pending", "--json"))
        return try JSONDecoder().decode([String: [Pending]].self, from: Data(outcome.output.utf8))["pending"] ?? []
    }
}
