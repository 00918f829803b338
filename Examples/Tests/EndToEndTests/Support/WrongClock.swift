/// A clock that programs can be made to see in place of the right one; see `Fixtures/clock.c`.
struct WrongClock: Sendable {
    private let library: String

    /// Prepares the clock.
    ///
    /// - Parameter container: Where its file is.
    init(in container: Container) async throws {
        library = container.path("clock.so")
        let compiler = Command(words: ["clang", "-shared", "-fPIC", "-o", library, BuiltProducts.fixture("clock.c")])
        let outcome = try await compiler.run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
    }

    /// Runs a tool by it.
    ///
    /// - Parameter seconds: How far the clock is ahead; negative if it is behind.
    func run(_ tool: Tool, ahead seconds: Int, _ arguments: [String], input: String = "") async throws -> Outcome {
        try await self.tool(tool, ahead: seconds).run(arguments, input: input)
    }

    /// A tool that sees the clock.
    func tool(_ tool: Tool, ahead seconds: Int) -> Tool {
        tool.with("LD_PRELOAD", library).with("CLOCK_AHEAD", String(seconds))
    }
}
