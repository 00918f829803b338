import BoundedWaiting
import Foundation
import Testing

/// A run of the signal exerciser with or without a terminal as its standard error.
final class GuardedProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors: FileHandle

    init(onTerminal: Bool = false) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "signal-exerciser")
        process.standardInput = input
        process.standardOutput = output
        if onTerminal {
            // Replaces posix_openpt(3), unlockpt(3) and ptsname(3), which Swift does not import (ioctl_tty(2)).
            let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
            var (isLocked, number) = (Int32(0), Int32(-1))
            let controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            try #require(ioctl(controller, setLock, &isLocked) == 0 && ioctl(controller, getNumber, &number) == 0)
            errors = FileHandle(fileDescriptor: controller, closeOnDealloc: true)
            process.standardError = FileHandle(
                fileDescriptor: open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC), closeOnDealloc: true)
        } else {
            let pipe = Pipe()
            errors = pipe.fileHandleForReading
            process.standardError = pipe
        }
        try process.run()
    }

    /// Sends a command, and returns the process's response. The process has handled all earlier signals by then.
    @discardableResult
    func tell(_ words: String) throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((words + "\n").utf8))
        var response = ""
        while let byte = try output.fileHandleForReading.nextByte(), byte != UInt8(ascii: "\n") {
            response.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return response
    }

    /// Sends a command that may end the process.
    func command(_ words: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((words + "\n").utf8))
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits until standard error contains `text`, and returns all its text so far.
    func errors(until text: String) throws -> String {
        var seen = ""
        while !seen.contains(text), let byte = try errors.nextByte() {
            seen.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return seen
    }

    /// The signal that ended the process, or 0 if it exited at the end of its input.
    func end() throws -> Int32 {
        try input.fileHandleForWriting.close()
        try process.waitForEnd()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : 0
    }
}
