public import Foundation

/// Nothing came of what a test waited for.
///
/// A test that waits for ever takes a thread away from all the others, and nobody learns which one it was.
public struct WaitedInVain: Error, CustomStringConvertible {
    /// Longer than anything takes on a busy machine.
    static let limit = Duration.seconds(180)

    /// What was waited for.
    public let description: String
}

extension Process {
    /// Waits for its end. One that does not come is an error, and the process is killed.
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
            throw WaitedInVain(description: "nothing came from a process")
        }
    }

    /// The next byte, as soon as there is one; `nil` at the end.
    public func nextByte() throws -> UInt8? {
        try waitForBytes()
        return try read(upToCount: 1)?.first
    }

    /// What is there, as soon as there is something; empty at the end.
    public func nextBytes() throws -> Data {
        try waitForBytes()
        return availableData
    }

    /// All up to the end.
    public func allBytes() throws -> Data {
        var all = Data()
        while case let more = try nextBytes(), !more.isEmpty { all += more }
        return all
    }
}
