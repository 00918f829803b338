import Foundation
import Subprocess

/// The built executable, run as a separate process.
enum BuiltServer {
    /// The result of one run of the server.
    struct Run {
        let port: Int
        /// The lines on standard output.
        let lines: [String]
        /// The text on standard error.
        let log: String
        let endedCleanly: Bool
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The path of the executable, which SwiftPM builds next to the tests.
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
        // `env` replaces itself with the server, so the process stays the same. The path can be determined at run time.
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
