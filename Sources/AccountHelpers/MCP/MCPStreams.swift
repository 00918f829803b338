import AccountKit
import AccountSupport
import CAccountKitShims
import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Reads a file descriptor on its own thread, because a read from a pipe blocks. It reads the next piece only after the
/// previous one was taken.
final class MCPInput: Sendable {
    let pieces: AsyncStream<[UInt8]>
    // Dispatch aborts if a semaphore ends below its initial value, so each begins at 0.
    private let room = DispatchSemaphore(value: 0)

    private static let pieceByteCount = 1 << 16

    init(descriptor: Int32) throws(AccountError) {
        let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        self.pieces = pieces
        let room = room
        room.signal()
        let failure = DedicatedThread.start {
            var buffer = [UInt8](repeating: 0, count: Self.pieceByteCount)
            while true {
                room.wait()
                let count = Self.read(descriptor, into: &buffer)
                // After an error, as after the end, no message can arrive.
                guard count > 0 else { return continuation.finish() }
                continuation.yield(Array(buffer[..<count]))
            }
        }
        guard failure == 0 else { throw AccountError(thread: failure) }
    }

    /// Allows the next read.
    func take() { room.signal() }

    private static func read(_ descriptor: Int32, into buffer: inout [UInt8]) -> Int {
        while true {
            let count = buffer.withUnsafeMutableBytes { sysRead(descriptor, $0.baseAddress!, $0.count) }
            if count >= 0 { return count }
            if errno == EAGAIN {
                // The other program made the pipe nonblocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                return count
            }
        }
    }
}

/// Writes messages to a file descriptor on its own thread, because a write to a pipe blocks while the reader is slow.
final class MCPOutput: Sendable {
    private struct State {
        var queue: [(bytes: [UInt8], continuation: CheckedContinuation<Bool, Never>)] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)

    init(descriptor: Int32) throws(AccountError) {
        // A reader that has ended must not end this process before it has ended the session at the server.
        signal(SIGPIPE, SIG_IGN)
        let failure = DedicatedThread.start { self.run(descriptor) }
        guard failure == 0 else { throw AccountError(thread: failure) }
    }

    /// Writes a message completely. Returns `false` if nothing reads any more.
    func write(_ bytes: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.queue.append((bytes, continuation)) }
                return state.isClosed
            }
            if isClosed { continuation.resume(returning: false) } else { work.signal() }
        }
    }

    private func run(_ descriptor: Int32) {
        while true {
            work.wait()
            guard let next = state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) else { continue }
            let isWritten = Self.write(next.bytes, to: descriptor)
            if !isWritten { state.withLock { $0.isClosed = true } }
            next.continuation.resume(returning: isWritten)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { accountkit_write(descriptor, $0.baseAddress!, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            } else {
                return false
            }
        }
        return true
    }
}

extension AccountError {
    fileprivate init(thread failure: Int32) {
        self.init(
            .busy, "cannot serve standard input and output",
            cause: SystemCallError("pthread_create", "messages", errno: failure))
    }
}

/// The function of the C library, which the method of the same name above shadows.
private func sysRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

/// Splits input into lines. A line that is too long is skipped up to its end.
struct MCPLines {
    enum Line: Equatable {
        case message([UInt8])

        /// A line that is longer than the limit, with the id if the line is a request.
        case tooLong(MCPRequestID?)
    }

    private let limit: Int
    private var line: [UInt8] = []

    /// The line that is being skipped.
    private var skipped: MCPSkippedMessage?

    init(limit: Int) { self.limit = limit }

    /// Returns the lines that end in a piece, without empty ones.
    mutating func lines(in piece: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var rest = piece[...]
        while let end = rest.firstIndex(of: 0x0A) {
            append(rest[..<end])
            if let line = ended() { lines.append(line) }
            rest = rest[(end + 1)...]
        }
        append(rest)
        return lines
    }

    /// Returns the last line if the input ends without a newline.
    mutating func last() -> Line? { ended() }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        if skipped == nil, line.count + bytes.count <= limit {
            line += bytes
            return
        }
        var message = skipped ?? MCPSkippedMessage()
        // The only reference, so that the message is changed in place.
        skipped = nil
        message.read(line)
        message.read(bytes)
        line = []
        skipped = message
    }

    private mutating func ended() -> Line? {
        defer {
            line = []
            skipped = nil
        }
        if let skipped { return .tooLong(skipped.requestID) }
        return line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } ? nil : .message(line)
    }
}
