import Foundation

/// A platform that issues assertions for a workload; see `Fixtures/workload/platform.py`.
struct WorkloadPlatform: Sendable {
    static let key = "platform-key-of-the-tests"

    /// The options of an `ExampleServer` that accepts the assertions.
    static let serverOptions = ["--workload-key", key]

    /// The audience of the assertions.
    let audience: String

    private static var program: [String] {
        ["python3", "-B", BuiltProducts.fixture("workload/platform.py")]
    }

    private static var options: [String] { ["--key", key] }

    /// The value of `--workload` for a program that prints a new assertion each time.
    var command: String { command(subject: nil) }

    func command(subject: String?) -> String { (["command"] + words(subject: subject)).joined(separator: " ") }

    private func words(lifetime: Int = 300, subject: String? = nil) -> [String] {
        Self.program + ["print"] + Self.options + ["--audience", audience, "--lifetime", String(lifetime)]
            + (subject.map { ["--subject", $0] } ?? [])
    }

    /// Returns a new assertion.
    func assertion(lifetime: Int = 300, subject: String? = nil) async throws -> String {
        let outcome = try await Command(words: words(lifetime: lifetime, subject: subject)).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return outcome.output.trimmingCharacters(in: .newlines)
    }

    /// Starts a service like that of GitHub Actions, and returns the command with the variables of a job.
    static func runGitHub<Result: Sendable>(
        for tool: Tool, _ test: (Tool) async throws -> Result
    ) async throws -> Result {
        try await ServerProcess.run(Command(words: program + ["serve"] + options)) { address in
            try await test(
                tool.with("ACTIONS_ID_TOKEN_REQUEST_URL", address + "/token?api-version=2.0")
                    .with("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "runner"))
        }
    }
}
