import Foundation
import NIOHTTP1

/// A git server that requires a token and records the requests; see `Fixtures/git/server.py`.
struct GitServer: Sendable {
    struct Request: Decodable, Sendable {
        let method: String
        let path: String
        let authorization: String?
        let status: Int
    }

    /// The address of the server.
    let url: String

    /// The folder of the repositories.
    let folder: String

    /// Serves one repository, `team/notes.git`, during the test.
    ///
    /// - Parameters:
    ///   - container: The container for the repository.
    ///   - name: The name of the folder in the container.
    ///   - issuer: The service that validates tokens. With `nil`, the server accepts any token.
    ///   - test: Receives the server.
    static func run<Result: Sendable>(
        in container: Container, name: String = "repositories", issuer: String? = nil,
        _ test: (GitServer) async throws -> Result
    ) async throws -> Result {
        let folder = container.path(name)
        let made = try await Command(
            words: ["git", "init", "--quiet", "--bare", "--initial-branch=main", folder + "/team/notes.git"],
            environment: container.environment
        ).run()
        guard made.exitCode == 0 else { throw Unexpected(made) }
        let words = ["python3", "-B", BuiltProducts.fixture("git/server.py"), "--folder", folder]
        let command = Command(
            words: words + (issuer.map { ["--issuer", $0] } ?? []), environment: container.environment)
        return try await ServerProcess.run(command) { try await test(GitServer(url: $0, folder: folder)) }
    }

    var repository: String { url + "/team/notes.git" }

    /// All requests so far.
    func log() async throws -> [Request] {
        try JSONDecoder().decode([Request].self, from: Data(try await HTTP.get(url + "/control/log").text.utf8))
    }

    /// The `Authorization` headers of the requests.
    func authorizations() async throws -> [String] { try await log().compactMap(\.authorization) }

    /// Redirects all requests from now on.
    func redirect(to url: String) async throws {
        let response = try await HTTP.send(.POST, self.url + "/control/redirect", body: Array(url.utf8))
        guard response.status == 200 else { throw Unexpected(response.text) }
    }
}

extension Tool {
    /// git(1) for a user whose credential helper is `account`.
    static func git(in container: Container) throws -> Tool {
        let account = try BuiltProducts.path(of: "account")
        let settings = """
            [user]
            \tname = Alice
            \temail = alice@example.org
            [init]
            \tdefaultBranch = main
            [credential]
            \thelper = "!'\(account)' git-credential"

            """
        try container.write(settings.utf8, to: container.root + "/user/.gitconfig")
        var environment = container.environment
        environment["GIT_CONFIG_NOSYSTEM"] = "1"
        environment["GIT_TERMINAL_PROMPT"] = "0"
        environment["LC_ALL"] = "C"
        return Tool(path: "git", environment: environment)
    }
}
