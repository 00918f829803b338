import Foundation

/// django-oauth-toolkit on loopback: an authorization server that this project did not write; see
/// `Fixtures/django/server.py`.
struct DjangoServer: Sendable {
    static let password = "correct horse battery staple"

    /// The file that everything is kept in.
    let database: String
    private let python: String

    /// Prepares the server's Python environment, which takes a while the first time.
    init(in container: Container) async throws {
        let environment = BuiltProducts.cache("django")
        let prepare = Command(
            words: [BuiltProducts.fixture("django/prepare.sh"), environment], environment: container.environment)
        let outcome = try await prepare.run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        database = container.path("django.sqlite3")
        python = environment + "/bin/python"
    }

    private func command(_ options: [String]) -> Command {
        Command(words: [python, "-B", BuiltProducts.fixture("django/server.py"), "--database", database] + options)
    }

    /// Serves, and stops after the test.
    ///
    /// - Parameters:
    ///   - port: Where; 0 for any free port.
    ///   - reuseProtection: Whether a refresh token that is used twice ends the session.
    ///   - hold: A file; as long as there is one, no request for a token is answered.
    ///   - test: Gets the issuer.
    func run<Result: Sendable>(
        port: Int = 0, reuseProtection: Bool = true, holdingWhile hold: String? = nil,
        _ test: (String) async throws -> Result
    ) async throws -> Result {
        let options = ["--port", String(port), "--reuse-protection", reuseProtection ? "on" : "off"]
        return try await ServerProcess.run(command(options + (hold.map { ["--hold", $0] } ?? [])), test)
    }

    /// Ends everybody's access, as an administrator would.
    func revokeAll() async throws { _ = try await administer("--revoke-all") }

    /// Lets every access token expire.
    func expireAll() async throws { _ = try await administer("--expire-all") }

    /// How many times a refresh token was exchanged for a new one.
    func refreshCount() async throws -> Int? {
        Int(try await administer("--count-refreshes").trimmingCharacters(in: .newlines))
    }

    private func administer(_ action: String) async throws -> String {
        let outcome = try await command([action]).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return outcome.output
    }
}
