import Testing

/// A known service that the example server simulates with this service's quirks, and its expected behavior.
struct SimulatedService: CustomTestStringConvertible, Sendable {
    let name: String
    var options: [String] = []
    /// The path of the issuer, after the server's origin.
    var path = ""
    var id = "u-5f0c2a9b7d314e86"
    var environment: [String: String] = [:]
    /// Whether the service issues a refresh token.
    var refreshes = true
    /// Whether the service supports revocation.
    var revokes = true

    var testDescription: String { ([name] + options).joined(separator: " ") }

    var serverOptions: [String] { ["--quirks", name, "--device-interval", "1"] + options }

    func issuer(at server: ExampleServer) -> String { server.issuer + path }

    func arguments(_ server: ExampleServer) -> [String] {
        ["--service", name, "--issuer", issuer(at: server), "--client-id", "account-cli"]
    }

    static let github = SimulatedService(name: "github", id: "583231", refreshes: false, revokes: false)
    static let githubApp = SimulatedService(name: "github", options: ["--expiring-tokens"], id: "583231", revokes: false)
    static let gitlab = SimulatedService(name: "gitlab", id: "1001")
    static let google = SimulatedService(name: "google", environment: ["ACCOUNT_CLIENT_SECRET": "account-secret"])
    static let microsoft = SimulatedService(name: "microsoft", path: "/common/v2.0", revokes: false)

    /// Runs a test with the service and an empty container.
    func run(_ test: (ExampleServer, Container, Tool) async throws -> Void) async throws {
        try await Container.run { container in
            try await ExampleServer.run(serverOptions) { server in
                var account = try Tool.account(in: container)
                for (name, value) in environment { account = account.with(name, value) }
                try await test(server, container, account)
            }
        }
    }
}
