import Subprocess

/// A program with its arguments and its environment, to be run once or several times.
struct Command: Sendable {
    var words: [String]
    var environment: [String: String] = [:]

    /// The same, run by way of another program, such as `strace`.
    func run(by wrapper: String...) -> Command {
        Command(words: wrapper + words, environment: environment)
    }

    /// The same, run by a shell after `script`, in a mount namespace of its own: what is mounted there is seen by the
    /// command, and by nobody else.
    ///
    /// - Parameter script: Lines of `sh`.
    func run(inMountsOfItsOwn script: String) -> Command {
        let unshare = Privileges.isRoot ? ["unshare", "--mount"] : ["unshare", "--mount", "--map-root-user"]
        return Command(
            words: unshare + ["sh", "-e", "-c", script + "\nexec \"$@\"", "sh"] + words, environment: environment)
    }

    /// Runs the program to its end.
    ///
    /// - Parameter input: What is on its standard input; without one there is nothing.
    func run(input: String = "") async throws -> Outcome {
        // Not `.string`: where a program ends before it has read all, swift-subprocess 1.0.2 ends too.
        let result = try await Subprocess.run(
            executable, arguments: subprocessArguments, environment: subprocessEnvironment, input: .inputWriter,
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20)
        ) { execution in
            // A program need not read what it has no use for; one that should have read it says so by its exit code.
            _ = try? await execution.standardInputWriter.write(input)
        }
        return Outcome(
            command: words.joined(separator: " "), status: result.terminationStatus, output: result.standardOutput,
            errors: result.standardError)
    }

    // `env` becomes the program: the process is the same, and a path need not be told from a name.
    var executable: Executable { .name("env") }

    // What the tests' own shell or CI ignores, such as SIGQUIT in the background, is not ignored by the program.
    var subprocessArguments: Arguments { Arguments(["--default-signal"] + words) }

    var subprocessEnvironment: Environment {
        // Nothing of the tester's own environment but the search path reaches the program.
        var variables: [Environment.Key: String] = [:]
        for (name, value) in environment { variables[.init(stringLiteral: name)] = value }
        variables["PATH"] = Command.searchPath
        return .custom(variables)
    }
}

/// What one run of a program left behind.
struct Outcome: Sendable, CustomStringConvertible {
    let command: String
    let status: TerminationStatus
    /// What it wrote to standard output.
    let output: String
    /// What it wrote to standard error.
    let errors: String

    /// The exit code as a shell has it: 128 and the number of the signal, if one ended the program.
    var exitCode: Int32 {
        switch status {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
    }

    var description: String { "`\(command)` exited with \(exitCode)\n\(output)\(errors)" }
}
