/// A built command, started in the same way as by a user or a script.
struct Tool: Sendable {
    let path: String
    var environment: [String: String]
    /// Words between the command and its arguments.
    var prefix: [String] = []

    /// The `account` command, with a separate container.
    static func account(in container: Container) throws -> Tool {
        Tool(path: try BuiltProducts.path(of: "account"), environment: container.environment)
    }

    /// Returns this command, with a changed variable in its environment.
    func with(_ name: String, _ value: String?) -> Tool {
        var copy = self
        copy.environment[name] = value
        return copy
    }

    /// Returns a run of the command that another program can start.
    func command(_ arguments: [String]) -> Command {
        Command(words: [path] + prefix + arguments, environment: environment)
    }

    /// Runs the command.
    ///
    /// - Parameter input: The text on standard input, which is never a terminal.
    func callAsFunction(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await command(arguments).run(input: input)
    }

    /// Runs the command.
    func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        try await command(arguments).run(input: input)
    }

    /// The stored access token, which `token` prints without a refresh.
    func storedToken(session: String = "default") async throws -> String {
        let outcome = try await self("token", "--min-validity", "0", "--session", session)
        guard outcome.exitCode == 0, outcome.output.hasSuffix("\n") else { throw Unexpected(outcome) }
        return String(outcome.output.dropLast())
    }
}

/// A precondition of a test failed.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: some CustomStringConvertible) { description = what.description }
}
