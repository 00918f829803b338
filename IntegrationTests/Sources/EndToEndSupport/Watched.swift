import Subprocess

extension Command {
    /// Runs the program until it ends, and calls `look` with each line of standard error as it arrives.
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
