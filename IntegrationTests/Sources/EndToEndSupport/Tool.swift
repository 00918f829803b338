import Testing

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

    /// Returns this command, but from the debug build if it is the installed command. The installed command is static, so
    /// it cannot load a library. A program that starts `account` by a path in its configuration file needs the path of this
    /// command.
    var dynamic: Tool {
        guard path == BuiltProducts.installedAccount else { return self }
        return Tool(path: BuiltProducts.debugAccount, environment: environment, prefix: prefix)
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

    /// Runs `whoami --verify`, and repeats it if a service on a loaded machine takes longer than the command waits.
    func verify() async throws -> Outcome {
        var outcome = try await self("whoami", "--verify")
        for _ in 1...5 where outcome.exitCode == 69 { outcome = try await self("whoami", "--verify") }
        return outcome
    }
}

// MARK: - Many processes

extension Tool {
    /// The time after which a command no longer waits for the service if it can do without a response.
    private static let patience = Duration.seconds(5)

    /// Runs a command in many processes at the same time.
    private func run(
        _ arguments: [String], inProcesses count: Int
    ) async throws -> [(outcome: Outcome, isLate: Bool)] {
        try await withThrowingTaskGroup { group in
            for _ in 1...count {
                group.addTask {
                    let start = ContinuousClock.now
                    let outcome = try await run(arguments)
                    return (outcome, start.duration(to: .now) >= Self.patience)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Checks the session in many processes at the same time, and expects that each process prints the user's name.
    ///
    /// Only processes that took 5 s or more, on a busy machine, may report that the service did not confirm the account.
    func expectName(_ name: String, inProcesses count: Int) async throws {
        for (outcome, isLate) in try await run(["whoami", "--max-age", "0"], inProcesses: count) {
            #expect(outcome.exitCode == 0 && outcome.output == name + "\n", "\(outcome)")
            #expect(outcome.errors == "" || isLate && outcome.errors.contains("You are still signed in"), "\(outcome)")
        }
    }

    /// Requests a token of a longer validity in many processes at the same time, and expects that they print the same
    /// new token.
    ///
    /// Only processes that took 5 s or more, on a busy machine, may print the old token with a warning.
    func expectOneNewToken(minimumValidity seconds: Int, inProcesses count: Int) async throws {
        let old = try await storedToken()
        let outcomes = try await run(["token", "--min-validity", String(seconds)], inProcesses: count)
        let new = try await storedToken()
        #expect(new != old)
        for (outcome, isLate) in outcomes {
            let isOld = isLate && outcome.output == old + "\n" && outcome.errors.contains("--min-validity \(seconds)")
            #expect(outcome.exitCode == 0 && (outcome.output == new + "\n" || isOld), "\(outcome)")
        }
    }
}

/// A precondition of a test failed.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: some CustomStringConvertible) { description = what.description }
}
