import Subprocess

/// A command that is interrupted, as by Ctrl-C, or killed.
enum Interrupted {
    /// Runs a command, and sends it a signal when a condition holds.
    ///
    /// - Returns: The exit code as a shell reports it.
    static func run(
        _ command: Command, by signal: Signal = .interrupt, when condition: @Sendable () async throws -> Bool
    ) async throws -> Int32 {
        let result = try await Subprocess.run(
            command.executable, arguments: command.subprocessArguments, environment: command.subprocessEnvironment,
            input: .none, output: .discarded, error: .discarded
        ) { execution in
            try await waitUntil("the moment came to interrupt `\(command.words.joined(separator: " "))`", condition)
            try execution.send(signal: signal)
        }
        return switch result.terminationStatus {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
    }
}
