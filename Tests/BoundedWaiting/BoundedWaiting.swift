public import Foundation

/// A wait in a test timed out.
///
/// Without a limit, the test would occupy a thread forever, and its name would never be reported.
public struct WaitedInVain: Error, CustomStringConvertible {
    /// Longer than any operation takes on a busy machine.
    static let limit = Duration.seconds(180)

    /// The awaited event.
    public let description: String
}

extension Process {
    /// Waits until the process ends. Kills it and throws an error at the limit.
    public func waitForEnd() throws {
        let end = ContinuousClock.now + WaitedInVain.limit
        while isRunning {
            guard ContinuousClock.now < end else {
                kill(processIdentifier, SIGKILL)
                throw WaitedInVain(description: "\(executableURL?.path ?? "a process") has not ended")
            }
            usleep(1000)
        }
    }
}

extension FileHandle {
    private func waitForBytes() throws {
        var waiting = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Int32(WaitedInVain.limit.components.seconds * 1000)) > 0 else {
            throw WaitedInVain(description: "a process sent nothing")
        }
    }

    /// Waits for the next byte. Returns `nil` at the end.
    public func nextByte() throws -> UInt8? {
        try waitForBytes()
        return try read(upToCount: 1)?.first
    }

    /// Waits for any available bytes. Returns empty data at the end.
    public func nextBytes() throws -> Data {
        try waitForBytes()
        return availableData
    }

    /// Reads all bytes until the end.
    public func allBytes() throws -> Data {
        var all = Data()
        while case let more = try nextBytes(), !more.isEmpty { all += more }
        return all
    }
}
