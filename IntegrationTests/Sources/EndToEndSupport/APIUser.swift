import Foundation
import Testing

/// A user who knows only the URL of an API. The API and its authorization server are the test server.
struct APIUser: Sendable {
    let server: ExampleServer
    let container: Container
    let account: Tool

    /// The URL of the API.
    var api: String { server.issuer + "/mcp" }

    /// Where the metadata of the API is.
    static let metadata = "/.well-known/oauth-protected-resource/mcp"

    /// Runs a test with a new server and container.
    ///
    /// - Parameters:
    ///   - options: Options of the server, besides `--api`.
    ///   - registration: The value of the server's option `--registration`.
    ///   - test: Receives the user before the first sign-in.
    static func run<Result: Sendable>(
        _ options: [String] = [], registration: String = "managed", _ test: (APIUser) async throws -> Result
    ) async throws -> Result {
        try await Container.run { container in
            let all = ["--api", "--registration", registration, "--device-interval", "1"] + options
            return try await ExampleServer.run(all) { server in
                try await test(APIUser(server: server, container: container, account: try .account(in: container)))
            }
        }
    }

    func signIn(_ arguments: String...) async throws {
        let login = try await account.logInOnDevice(at: server, [api] + arguments)
        try #require(login.exitCode == 0, "\(login)")
    }

    /// The status of an API call with the stored token.
    func call() async throws -> Int {
        try await HTTP.get(api, bearer: try await account.storedToken()).status
    }

    /// The stored registrations.
    func registrations() throws -> [String] {
        try container.files().keys.filter { $0.contains("/Documents/Clients/Client-") }
    }

    /// Expects that a sign-in has failed with an explanation, and that it neither stored nor sent anything.
    func expectRefused(
        _ outcome: Outcome, _ text: String, exitCode: Int32 = 78, registered count: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(outcome.exitCode == exitCode, "\(outcome)", sourceLocation: sourceLocation)
        #expect(outcome.errors.contains(text), "\(outcome)", sourceLocation: sourceLocation)
        #expect(!container.exists(container.archive), sourceLocation: sourceLocation)
        #expect(try registrations().isEmpty, sourceLocation: sourceLocation)
        let requests = try await server.log().requests
        #expect(requests.filter { $0.path == "/oauth/register" }.count == count, sourceLocation: sourceLocation)
        #expect(!requests.contains { $0.path == "/oauth/token" }, "\(requests)", sourceLocation: sourceLocation)
    }

    /// Runs `login --web`, which is expected to fail before it shows an address.
    func refusedLogin(_ arguments: String...) async throws -> Outcome {
        try await account.with("BROWSER", "true").run(["login", "--web", api] + arguments)
    }
}
