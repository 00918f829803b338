/// django-oauth-toolkit on loopback: an authorization server that this project did not write; see
/// `Fixtures/django/server.py`.
struct DjangoServer: Sendable {
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
    ///   - test: Gets the issuer.
    func run<Result: Sendable>(port: Int = 0, _ test: (String) async throws -> Result) async throws -> Result {
        try await ServerProcess.run(command(["--port", String(port), "--reuse-protection", "on"]), test)
    }

    /// Ends everybody's access, as an administrator would.
    func revokeAll() async throws { try await administer("--revoke-all") }

    /// Lets every access token expire.
    func expireAll() async throws { try await administer("--expire-all") }

    private func administer(_ action: String) async throws {
        let outcome = try await command([action]).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }
}
