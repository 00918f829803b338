import Subprocess

/// A server that reports on standard output when it is ready.
enum ServerProcess {
    /// Starts a server that prints `listening on URL`, waits until it is ready, and ends it with SIGTERM after the
    /// test.
    ///
    /// - Parameter test: Receives the server's URL.
    static func run<Result: Sendable>(_ command: Command, _ test: (String) async throws -> Result) async throws
        -> Result
    {
        let ready = "listening on "
        return try await run(
            command, readingAddress: { $0.hasPrefix(ready) ? String($0.dropFirst(ready.count)) : nil }, test)
    }

    /// Starts a server that reports its address in another form.
    ///
    /// - Parameters:
    ///   - command: The server.
    ///   - address: Returns the URL in a line, or `nil` if the line has none.
    ///   - end: The server's expected termination status after SIGTERM.
    ///   - test: Receives the server's URL.
    static func run<Result: Sendable>(
        _ command: Command, readingAddress address: (String) -> String?, endingAs end: TerminationStatus = .exited(0),
        _ test: (String) async throws -> Result
    ) async throws -> Result {
        let run = try await Subprocess.run(
            command.executable, arguments: command.subprocessArguments, environment: command.subprocessEnvironment,
            input: .none, output: .sequence, error: .string(limit: 1 << 20)
        ) { execution -> Swift.Result<Result, any Error>? in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            var found: String?
            while found == nil, let line = try await lines.next() { found = address(line) }
            guard let found else { return nil }
            let outcome: Swift.Result<Result, any Error>
            do {
                outcome = .success(try await test(found))
            } catch {
                outcome = .failure(error)
            }
            // If the server has already ended, the signal fails, and the exit code below reveals the reason.
            try? execution.send(signal: .terminate)
            while try await lines.next() != nil {}
            return outcome
        }
        guard let outcome = run.closureResult else {
            throw Unexpected("`\(command.words.joined(separator: " "))` did not start: \(run.standardError)")
        }
        guard run.terminationStatus == end else {
            throw Unexpected("the server ended with \(run.terminationStatus): \(run.standardError)")
        }
        return try outcome.get()
    }
}
