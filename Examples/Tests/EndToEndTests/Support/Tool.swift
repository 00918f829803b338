/// A built command, run as a person or a script runs it.
struct Tool: Sendable {
    let path: String
    var environment: [String: String]
    /// Words between the command and its arguments.
    var prefix: [String] = []

    /// The `account` command, with a container of its own.
    static func account(in container: Container) throws -> Tool {
        Tool(path: try BuiltProducts.path(of: "account"), environment: container.environment)
    }

    /// The same command, with another variable in its environment.
    func with(_ name: String, _ value: String?) -> Tool {
        var copy = self
        copy.environment[name] = value
        return copy
    }

    /// A run of the command, for another program to start.
    func command(_ arguments: [String]) -> Command {
        Command(words: [path] + prefix + arguments, environment: environment)
    }

    /// Runs the command.
    ///
    /// - Parameter input: What is on its standard input, which is never a terminal.
    func callAsFunction(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await command(arguments).run(input: input)
    }

    /// Runs the command.
    func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        try await command(arguments).run(input: input)
    }

    /// The access token that is stored, as `token` prints it, without a refresh.
    func storedToken(session: String = "default") async throws -> String {
        let outcome = try await self("token", "--min-validity", "0", "--session", session)
        guard outcome.exitCode == 0, outcome.output.hasSuffix("\n") else { throw Unexpected(outcome) }
        return String(outcome.output.dropLast())
    }
}

/// Something that a test takes for granted went wrong.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: some CustomStringConvertible) { description = what.description }
}
