@testable import EndToEndSupport
import Synchronization

/// The Python packages that a test server requires; see `Fixtures/prepare.sh`.
enum PythonEnvironment {
    /// The environments that this process has prepared, by name.
    private static let preparations = Mutex<[String: Task<String, any Error>]>([:])

    /// Prepares an environment, which takes a while the first time. Later calls in this process return the result of the
    /// first call, so that they do not import the modules again to check the environment.
    ///
    /// - Parameters:
    ///   - name: The folder in `Fixtures` with the list of packages.
    ///   - modules: The modules that must be importable afterwards.
    ///   - container: Provides the environment variables during the preparation.
    /// - Returns: The path of the interpreter.
    static func prepare(_ name: String, importing modules: String..., in container: Container) async throws -> String {
        let preparation = preparations.withLock { preparations in
            if let known = preparations[name] { return known }
            let new = Task { try await run(name, importing: modules, in: container) }
            preparations[name] = new
            return new
        }
        return try await preparation.value
    }

    private static func run(
        _ name: String, importing modules: [String], in container: Container
    ) async throws -> String {
        let folder = BuiltProducts.cache(name)
        let words = [BuiltProducts.fixture("prepare.sh"), folder, BuiltProducts.fixture(name + "/requirements.txt")]
        let outcome = try await Command(words: words + modules, environment: container.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return folder + "/bin/python"
    }
}
