@testable import EndToEndSupport
import Foundation

/// django-oauth-toolkit on loopback: an authorization server that is not part of this project; see
/// `Fixtures/django/server.py`.
struct DjangoServer: Sendable {
    static let password = "correct horse battery staple"

    /// The database file of the server.
    let database: String
    private let python: String

    /// Prepares the server's Python environment, which takes a while the first time.
    init(in container: Container) async throws {
        python = try await PythonEnvironment.prepare("django", importing: "django", "oauth2_provider", in: container)
        database = container.path("django.sqlite3")
    }

    private func command(_ options: [String]) -> Command {
        Command(words: [python, "-B", BuiltProducts.fixture("django/server.py"), "--database", database] + options)
    }

    /// Serves during the test.
    ///
    /// - Parameters:
    ///   - port: The port, or 0 for any free port.
    ///   - reuseProtection: Whether the second use of a refresh token ends the session.
    ///   - hold: The path of a file. While the file exists, the server does not respond to token requests.
    ///   - test: Receives the issuer.
    func run<Result: Sendable>(
        port: Int = 0, reuseProtection: Bool = true, holdingWhile hold: String? = nil,
        _ test: (String) async throws -> Result
    ) async throws -> Result {
        let options = ["--port", String(port), "--reuse-protection", reuseProtection ? "on" : "off"]
        return try await ServerProcess.run(command(options + (hold.map { ["--hold", $0] } ?? [])), test)
    }

    /// Revokes all tokens of all users, as an administrator would.
    func revokeAll() async throws { _ = try await administer("--revoke-all") }

    /// Expires all access tokens.
    func expireAll() async throws { _ = try await administer("--expire-all") }

    /// The number of times that a refresh token was exchanged for a new one.
    func refreshCount() async throws -> Int? {
        Int(try await administer("--count-refreshes").trimmingCharacters(in: .newlines))
    }

    /// The number of valid tokens, and of registrations that clients can manage.
    func liveTokenCount() async throws -> Int? {
        Int(try await administer("--count-alive").trimmingCharacters(in: .newlines))
    }

    private func administer(_ action: String) async throws -> String {
        let outcome = try await command([action]).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return outcome.output
    }
}
