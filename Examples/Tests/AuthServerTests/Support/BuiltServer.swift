import Foundation
import Subprocess

/// The built executable, run as a process of its own.
enum BuiltServer {
    /// What one run of the server left behind.
    struct Run {
        let port: Int
        /// What it wrote to standard output.
        let lines: [String]
        /// What it wrote to standard error.
        let log: String
        let endedCleanly: Bool
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Where SwiftPM put the executable: beside the tests.
    static func path() throws -> String {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let directory = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
        let path = directory.appending(component: "auth-server").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(description: "there is no executable \(path)")
        }
        return path
    }

    /// Starts the server, waits for its first line, and ends it with SIGTERM after the test.
    static func run(_ arguments: [String], _ test: (_ port: Int) async throws -> Void) async throws -> Run {
        // `env` becomes the server: the process is the same, and its path need not be known when this is compiled.
        let result = try await Subprocess.run(
            .name("env"),
            arguments: Arguments([try path()] + arguments),
            input: .none,
            output: .sequence,
            error: .string(limit: 64 * 1024)
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            var received: [String] = []
            guard let line = try await lines.next() else { throw Failure(description: "no line on standard output") }
            received.append(line)
            guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
                throw Failure(description: "no port in \(line)")
            }
            do {
                try await test(port)
                try execution.send(signal: .terminate)
            } catch {
                try execution.send(signal: .kill)
                throw error
            }
            while let line = try await lines.next() {
                received.append(line)
            }
            return (port: port, lines: received)
        }
        return Run(
            port: result.closureResult.port,
            lines: result.closureResult.lines,
            log: result.standardError,
            endedCleanly: result.terminationStatus == .exited(0)
        )
    }
}
