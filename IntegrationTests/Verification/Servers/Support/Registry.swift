@testable import EndToEndSupport
import Foundation
import Subprocess

/// docker-registry on loopback, with a password: a registry that is not part of this project.
enum Registry {
    /// Serves during the test.
    ///
    /// - Parameters:
    ///   - container: The container for the registry's data.
    ///   - username: The user who may push and pull.
    ///   - password: The password, which is a token in these tests.
    ///   - test: Receives the registry's name, such as `127.0.0.1:5000`.
    static func run<Result: Sendable>(
        in container: Container, username: String, password: String, _ test: (String) async throws -> Result
    ) async throws -> Result {
        let users = try await Command(words: ["htpasswd", "-iBn", "-C", "4", username]).run(input: password + "\n")
        guard users.exitCode == 0 else { throw Unexpected(users) }
        try container.write(users.output.utf8, to: container.path("htpasswd"))
        let name = "127.0.0.1:\(try FreePort.find())"
        let settings = """
            version: 0.1
            log: {level: info}
            storage: {filesystem: {rootdirectory: \(container.path("registry"))}}
            http: {addr: "\(name)"}
            auth: {htpasswd: {realm: Registry, path: \(container.path("htpasswd"))}}

            """
        try container.write(settings.utf8, to: container.path("registry.yml"))
        let command = Command(
            words: ["sh", "-c", "exec docker-registry serve \"$1\" 2>&1", "sh", container.path("registry.yml")],
            environment: container.environment)
        return try await ServerProcess.run(
            command, readingAddress: { $0.contains("listening on \(name)") ? name : nil },
            endingAs: .signaled(15)
        ) { try await test($0) }
    }
}
