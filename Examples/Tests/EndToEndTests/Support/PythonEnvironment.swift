/// Python packages that a server of the tests needs; see `Fixtures/prepare.sh`.
enum PythonEnvironment {
    /// Prepares an environment, which takes a while the first time.
    ///
    /// - Parameters:
    ///   - name: The folder in `Fixtures` that has the list of packages.
    ///   - modules: What can be imported then.
    ///   - container: Whose environment variables count meanwhile.
    /// - Returns: The path of its interpreter.
    static func prepare(_ name: String, importing modules: String..., in container: Container) async throws -> String {
        let folder = BuiltProducts.cache(name)
        let words = [BuiltProducts.fixture("prepare.sh"), folder, BuiltProducts.fixture(name + "/requirements.txt")]
        let outcome = try await Command(words: words + modules, environment: container.environment).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        return folder + "/bin/python"
    }
}
