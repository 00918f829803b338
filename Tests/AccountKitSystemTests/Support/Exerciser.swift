import BoundedWaiting
import Foundation
import Testing

/// Runs programs, above all the one that works on an archive.
enum Exerciser {
    struct Outcome: Sendable, Hashable {
        var status: Int32
        var output: String
    }

    /// The program, which is built beside the tests.
    static let path: String = {
        // The test bundle's folder.
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "archive-exerciser").path
    }()

    /// Starts a program; its standard output and error go to the pipe.
    static func start(_ program: String, _ arguments: [String]) throws -> (process: Process, pipe: Pipe) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return (process, pipe)
    }

    /// Runs a program to its end.
    static func run(_ program: String, _ arguments: [String]) throws -> Outcome {
        let (process, pipe) = try start(program, arguments)
        let output = try pipe.fileHandleForReading.allBytes()
        try process.waitForEnd()
        let text = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return Outcome(status: process.terminationStatus, output: text)
    }

    /// Runs the exerciser.
    @discardableResult
    static func run(_ folder: TemporaryFolder, _ arguments: String...) throws -> Outcome {
        try run(path, [folder.path] + arguments)
    }

    /// Runs a shell script in which `$EXERCISER` is the program and `$ROOT` the folder.
    static func shell(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        try run("/bin/sh", ["-euc", "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"])
    }

    /// The same in a mount namespace of its own, so that file systems can be mounted; also for users who are not root.
    static func shellWithMounts(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let full = "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"
        return try run("/usr/bin/unshare", user + ["--mount", "/bin/sh", "-euc", full])
    }

    /// A shell script under which file permissions apply to everyone: to the superuser they would not.
    static func shellUnderPermissions(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        let shell = ["/bin/sh", "-euc", "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"]
        let capabilities = ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        let command = geteuid() == 0 ? capabilities + shell : shell
        return try run(command[0], Array(command.dropFirst()))
    }

    /// The exerciser with a fault in its system calls: `fault` is what strace's `inject` takes.
    static func run(_ folder: TemporaryFolder, _ arguments: String..., injecting fault: String) throws -> Outcome {
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        let calls = fault.prefix { $0 != ":" }
        return try run(
            "/usr/bin/strace",
            ["-f", "-qq", "-o", trace, "-e", "trace=\(calls)", "-e", "inject=\(fault)", path, folder.path] + arguments)
    }
}
