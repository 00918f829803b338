/// A clock that programs use instead of the system clock; see `Fixtures/clock.c`.
struct WrongClock: Sendable {
    private let library: String

    /// Builds the clock.
    ///
    /// - Parameter container: The container for the library.
    init(in container: Container) async throws {
        library = container.path("clock.so")
        let compiler = Command(words: ["clang", "-shared", "-fPIC", "-o", library, BuiltProducts.fixture("clock.c")])
        let outcome = try await compiler.run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Runs a tool with this clock.
    ///
    /// - Parameter seconds: The number of seconds by which the clock is ahead, or behind if negative.
    func run(_ tool: Tool, ahead seconds: Int, _ arguments: [String], input: String = "") async throws -> Outcome {
        try await self.tool(tool, ahead: seconds).run(arguments, input: input)
    }

    /// A tool that uses this clock.
    func tool(_ tool: Tool, ahead seconds: Int) -> Tool {
        tool.dynamic.with("LD_PRELOAD", library).with("CLOCK_AHEAD", String(seconds))
    }
}
