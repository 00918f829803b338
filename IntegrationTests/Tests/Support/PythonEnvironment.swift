/// The Python packages that a test server requires; see `Fixtures/prepare.sh`.
enum PythonEnvironment {
    /// Prepares an environment, which takes a while the first time.
    ///
    /// - Parameters:
    ///   - name: The folder in `Fixtures` with the list of packages.
    ///   - modules: The modules that must be importable afterwards.
    ///   - container: Provides the environment variables during the preparation.
    /// - Returns: The path of the interpreter.
    static func prepare(_ name: String, importing modules: String..., in container: Container) async throws -> String {
        let folder = BuiltProducts.cache(name)
        let words = [BuiltProducts.fixture("prepare.sh"), folder, BuiltProducts.fixture(name + "/requirements.txt")]
        let outcome = try await Command(words: words + modules, environment: container.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return folder + "/bin/python"
    }
}
