import Subprocess

/// A server that says on standard output when it is ready: `listening on URL`.
enum ServerProcess {
    /// Starts a server, waits until it is ready, and ends it with SIGTERM after the test.
    ///
    /// - Parameter test: Gets the server's URL.
    static func run<Result: Sendable>(_ command: Command, _ test: (String) async throws -> Result) async throws
        -> Result
    {
        let run = try await Subprocess.run(
            command.executable, arguments: Arguments(command.words), environment: command.subprocessEnvironment,
            input: .none, output: .sequence, error: .string(limit: 1 << 20)
        ) { execution -> Swift.Result<Result, any Error>? in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            let ready = "listening on "
            guard let line = try await lines.next(), line.hasPrefix(ready) else { return nil }
            let outcome: Swift.Result<Result, any Error>
            do {
                outcome = .success(try await test(String(line.dropFirst(ready.count))))
            } catch {
                outcome = .failure(error)
            }
            // A server that has ended by itself cannot be sent anything, and is told by its exit code below.
            try? execution.send(signal: .terminate)
            while try await lines.next() != nil {}
            return outcome
        }
        guard let outcome = run.closureResult else {
            throw Unexpected("`\(command.words.joined(separator: " "))` did not start: \(run.standardError)")
        }
        guard run.terminationStatus == .exited(0) else {
            throw Unexpected("the server ended with \(run.terminationStatus): \(run.standardError)")
        }
        return try outcome.get()
    }
}
