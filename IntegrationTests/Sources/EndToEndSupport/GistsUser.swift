import Foundation

/// alice with `gists`, signed in to a separate server.
struct GistsUser: Sendable {
    let server: ExampleServer
    let container: Container
    let gists: Tool

    /// The tool `gists`, without a reachable service.
    let offline: Tool

    /// A gist in the output of `list --json`.
    struct Listed: Decodable, Equatable {
        struct File: Decodable, Equatable { let filename: String }

        let id: String
        let description: String?
        let files: [File]
        let pending: Bool?
    }

    struct List: Decodable {
        let source: String
        let offline: Bool
        let gists: [Listed]
        let next: Int?
    }

    struct Pending: Decodable, Equatable {
        let change: String
        let kind: String
        let id: String
        let state: String
        let attempts: Int
    }

    private struct Status: Decodable { let pending: [Pending] }

    static func run<Result: Sendable>(_ test: (GistsUser) async throws -> Result) async throws -> Result {
        try await Container.run { container in
            try await ExampleServer.run { server in
                var environment = container.environment
                environment["ACCOUNT_HOME"] = nil
                environment["GISTS_HOME"] = container.home
                environment["GISTS_API"] = server.issuer
                let gists = Tool(path: try BuiltProducts.path(of: "gists"), environment: environment)
                let nowhere = "http://127.0.0.1:\(try FreePort.find())"
                let user = GistsUser(
                    server: server, container: container, gists: gists, offline: gists.with("GISTS_API", nowhere))
                try await user.signIn()
                return try await test(user)
            }
        }
    }

    func signIn(as username: String = "alice") async throws {
        let password = username == "alice" ? ExampleServer.alicePassword : ExampleServer.bobPassword
        let outcome = try await gists.run(
            ["account", "login", "--issuer", server.issuer, "--username", username, "--password-stdin"],
            input: password + "\n")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    func list(_ name: String = "mine", _ arguments: String..., with tool: Tool? = nil) async throws -> List {
        let outcome = try await (tool ?? gists).run(["list", name, "--json"] + arguments)
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(List.self, from: Data(outcome.output.utf8))
    }

    /// The ids of a list, in its order.
    func ids(_ name: String = "mine", with tool: Tool? = nil) async throws -> [String] {
        try await list(name, "--all", with: tool).gists.map(\.id)
    }

    func pending() async throws -> [Pending] {
        let outcome = try await offline("status", "--offline", "--json")
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8)).pending
    }

    /// Creates a gist with one file without the network.
    ///
    /// - Returns: The gist's local id.
    func createOffline(_ text: String, name: String = "a.txt") async throws -> String {
        let outcome = try await offline("create", "--name", name, input: text)
        guard outcome.exitCode == 0,
            let id = outcome.errors.firstMatch(of: /Stored as (local-[0-9a-f]+)\./)?.output.1
        else { throw Unexpected(outcome) }
        return String(id)
    }

    /// Writes a file for editing a gist.
    func file(_ name: String, _ text: String) throws -> String {
        let folder = container.path("files")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try container.write(Array(text.utf8), to: folder + "/" + name)
        return folder + "/" + name
    }

    /// The files of the container whose content or path contains a string.
    func files(containing text: String) throws -> [String] {
        let pattern = Data(text.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: container.home).filter { path in
            // Skip folders.
            guard let bytes = FileManager.default.contents(atPath: container.home + "/" + path) else { return false }
            return path.contains(text) || bytes.range(of: pattern) != nil
        }
    }
}
