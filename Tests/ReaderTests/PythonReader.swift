import BoundedWaiting
import Foundation

/// Runs the Python reader beside this file.
struct PythonReader {
    /// The result of a run.
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String

        func json() throws -> [String: Any] {
            try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
        }
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    static func read(_ archive: URL, _ arguments: String..., input: String = "") throws -> Outcome {
        try run([folder.appending(path: "read_account.py").path, archive.path] + arguments, input: input)
    }

    /// Runs Python until it ends.
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
        // The messages are shorter than a pipe's buffer, so one stream can be read after the other.
        let outputData = try output.fileHandleForReading.allBytes()
        let errorData = try errors.fileHandleForReading.allBytes()
        try process.waitForEnd()
        return Outcome(
            status: process.terminationStatus, output: String(decoding: outputData, as: UTF8.self),
            errors: String(decoding: errorData, as: UTF8.self))
    }
}
