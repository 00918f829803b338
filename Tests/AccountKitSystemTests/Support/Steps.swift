import BoundedWaiting
import Foundation

/// A program that continues after each input line.
final class Steps {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var processID: Int32 { process.processIdentifier }

    init(_ program: String, _ arguments: [String]) throws {
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// The next line of the program's output, or an empty string at its end.
    func next() throws -> String {
        var line = Data()
        while let byte = try output.fileHandleForReading.nextByte(), byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    func send(_ line: String) {
        input.fileHandleForWriting.write(Data((line + "\n").utf8))
    }
}
