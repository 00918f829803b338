import BoundedWaiting
import Foundation

/// The reader in Python beside this file, run as a process.
struct PythonReader {
    /// What a run came to.
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String

        /// The output as JSON.
        func json() throws -> [String: Any] {
            try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
        }
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    /// Reads an archive.
    static func read(_ archive: URL, _ arguments: String..., input: String = "") throws -> Outcome {
        try run([folder.appending(path: "read_account.py").path, archive.path] + arguments, input: input)
    }

    /// Runs Python to its end.
    static func run(_ arguments: [String], input: String = "") throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        // The messages are shorter than what a pipe holds, so one can be read after the other.
        let outputData = try output.fileHandleForReading.allBytes()
        let errorData = try errors.fileHandleForReading.allBytes()
        try process.waitForEnd()
        return Outcome(
            status: process.terminationStatus, output: String(decoding: outputData, as: UTF8.self),
            errors: String(decoding: errorData, as: UTF8.self))
    }
}
