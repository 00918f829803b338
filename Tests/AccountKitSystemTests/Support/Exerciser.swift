import BoundedWaiting
import Foundation
import Testing

/// Runs programs, in particular `archive-exerciser`.
enum Exerciser {
    struct Outcome: Sendable, Hashable {
        var status: Int32
        var output: String
    }

    /// The exerciser, which is built beside the tests.
    static let path: String = {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "archive-exerciser").path
    }()

    /// Starts a program with its standard output and error connected to the pipe.
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

    /// Runs a program until it ends.
    static func run(_ program: String, _ arguments: [String]) throws -> Outcome {
        let (process, pipe) = try start(program, arguments)
        let output = try pipe.fileHandleForReading.allBytes()
        try process.waitForEnd()
        let text = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return Outcome(status: process.terminationStatus, output: text)
    }

    @discardableResult
    static func run(_ folder: TemporaryFolder, _ arguments: String...) throws -> Outcome {
        try run(path, [folder.path] + arguments)
    }

    /// Runs a shell script in which `$EXERCISER` is the program and `$ROOT` the folder.
    static func shell(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        try run("/bin/sh", ["-euc", "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"])
    }

    /// Like `shell`, in a separate mount namespace that allows mounts. Does not require root.
    static func shellWithMounts(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let full = "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"
        return try run("/usr/bin/unshare", user + ["--mount", "/bin/sh", "-euc", full])
    }

    /// Like `shell`, with file permissions in force even for the superuser.
    static func shellUnderPermissions(_ folder: TemporaryFolder, _ script: String) throws -> Outcome {
        let shell = ["/bin/sh", "-euc", "EXERCISER='\(path)' ROOT='\(folder.path)'\n\(script)"]
        let capabilities = ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        let command = geteuid() == 0 ? capabilities + shell : shell
        return try run(command[0], Array(command.dropFirst()))
    }

    /// Runs the exerciser with a fault in its system calls: `fault` is an argument of strace's `inject`.
    static func run(_ folder: TemporaryFolder, _ arguments: String..., injecting fault: String) throws -> Outcome {
        let trace = folder.path + "-trace"
        defer { try? FileManager.default.removeItem(atPath: trace) }
        let calls = fault.prefix { $0 != ":" }
        return try run(
            "/usr/bin/strace",
            ["-f", "-qq", "-o", trace, "-e", "trace=\(calls)", "-e", "inject=\(fault)", path, folder.path] + arguments)
    }
}
