import Subprocess

/// A program with its arguments and its environment, to run once or several times.
struct Command: Sendable {
    var words: [String]
    var environment: [String: String] = [:]

    /// Returns this command, run by another program, such as `strace`.
    func run(by wrapper: String...) -> Command {
        Command(words: wrapper + words, environment: environment)
    }

    /// Returns this command, run by a shell after `script` in a separate mount namespace. Only the command sees the mounts.
    ///
    /// - Parameter script: Lines of `sh`.
    func run(inMountsOfItsOwn script: String) -> Command {
        let unshare = Privileges.isRoot ? ["unshare", "--mount"] : ["unshare", "--mount", "--map-root-user"]
        return Command(
            words: unshare + ["sh", "-e", "-c", script + "\nexec \"$@\"", "sh"] + words, environment: environment)
    }

    /// Runs the program until it ends.
    ///
    /// - Parameter input: The text on standard input.
    func run(input: String = "") async throws -> Outcome {
        // Do not use `.string`: if a program ends before it has read all its input, swift-subprocess 1.0.2 ends the
        // tests, too.
        let result = try await Subprocess.run(
            executable, arguments: subprocessArguments, environment: subprocessEnvironment, input: .inputWriter,
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20)
        ) { execution in
            // Ignore the error: a program may leave input unread. If the program requires the input, its exit code
            // shows the failure.
            _ = try? await execution.standardInputWriter.write(input)
        }
        return Outcome(
            command: words.joined(separator: " "), status: result.terminationStatus, output: result.standardOutput,
            errors: result.standardError)
    }

    // `env` replaces itself with the program, so the process stays the same, and accepts both paths and names.
    var executable: Executable { .name("env") }

    // Reset signals that the tests' shell or CI ignores, such as SIGQUIT in the background. Otherwise the program
    // ignores them, too.
    var subprocessArguments: Arguments { Arguments(["--default-signal"] + words) }

    var subprocessEnvironment: Environment {
        // From the environment of the tests, the program inherits only the search path.
        var variables: [Environment.Key: String] = [:]
        for (name, value) in environment { variables[.init(stringLiteral: name)] = value }
        variables["PATH"] = Command.searchPath
        return .custom(variables)
    }
}

/// The result of one run of a program.
struct Outcome: Sendable, CustomStringConvertible {
    let command: String
    let status: TerminationStatus
    /// The text on standard output.
    let output: String
    /// The text on standard error.
    let errors: String

    /// The exit code as a shell reports it: if a signal ended the program, 128 plus the signal's number.
    var exitCode: Int32 {
        switch status {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
    }

    var description: String { "`\(command)` exited with \(exitCode)\n\(output)\(errors)" }
}
