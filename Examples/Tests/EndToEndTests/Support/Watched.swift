import Subprocess

extension Command {
    /// Runs the program to its end, and looks at each line of its standard error as it comes.
    func run(watching look: (String) async throws -> Void) async throws -> Outcome {
        let result = try await Subprocess.run(
            executable, arguments: subprocessArguments, environment: subprocessEnvironment, input: .none,
            output: .string(limit: 1 << 20), error: .sequence
        ) { execution in
            var errors = ""
            for try await line in execution.standardError.strings() {
                errors += line + "\n"
                try await look(line)
            }
            return errors
        }
        return Outcome(
            command: words.joined(separator: " "), status: result.terminationStatus, output: result.standardOutput,
            errors: result.closureResult)
    }
}
