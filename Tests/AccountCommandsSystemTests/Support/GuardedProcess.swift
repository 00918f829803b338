import BoundedWaiting
import Foundation
import Testing

/// A run of the signal exerciser, with a terminal for its standard error or without.
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
            // What posix_openpt(3), unlockpt(3) and ptsname(3) do, which are not imported (ioctl_tty(2)).
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

    /// Has the process do something, and returns what it prints then. A signal that was sent before has been dealt with.
    @discardableResult
    func tell(_ words: String) throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((words + "\n").utf8))
        var response = ""
        while let byte = try output.fileHandleForReading.nextByte(), byte != UInt8(ascii: "\n") {
            response.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return response
    }

    /// Has the process do something that may end it.
    func command(_ words: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((words + "\n").utf8))
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Sends SIGINT again and again until the process has ended.
    ///
    /// - Returns: The signal that ended it; 0 if no SIGINT did.
    func interruptUntilEnd() throws -> Int32 {
        let deadline = ContinuousClock.now + .seconds(60)
        while process.isRunning, ContinuousClock.now < deadline {
            send(SIGINT)
            sched_yield()
        }
        return try end()
    }

    /// What is on standard error so far, at least `text`.
    func errors(until text: String) throws -> String {
        var seen = ""
        while !seen.contains(text), let byte = try errors.nextByte() {
            seen.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return seen
    }

    /// The signal that ended the process; 0 if it ended by itself, as it does where nothing is left to read.
    func end() throws -> Int32 {
        try input.fileHandleForWriting.close()
        try process.waitForEnd()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : 0
    }
}
