import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Standard input, output and error. The system calls on them are here and nowhere else in this module.
enum Terminal {
    enum Stream: Int32 {
        case input = 0
        case output = 1
        case error = 2
    }

    /// What is read at most: no token or password is longer.
    private static let maximumByteCount = 64 * 1024

    static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

    /// Writes a line, whole. A reader that has gone is not an error here.
    static func writeLine(_ text: String, to stream: Stream) {
        write(Array((text + "\n").utf8), to: stream)
    }

    /// Puts text in the place of the terminal's last line, without ending it.
    static func rewriteLine(_ text: String, on stream: Stream) {
        // CSI K erases the rest of the line (ECMA-48, section 8.3.41).
        write(Array("\r\(text)\u{1B}[K".utf8), to: stream)
    }

    /// Writes text that may hold secrets, straight from its bytes.
    static func writeLine(_ secret: Secret, to stream: Stream) {
        secret.withBytes { span in
            var line: [UInt8] = []
            for index in span.byteOffsets { line.append(span.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
            line.append(UInt8(ascii: "\n"))
            write(line, to: stream)
        }
    }

    private static func write(_ bytes: [UInt8], to stream: Stream) {
        write(bytes, to: stream.rawValue)
    }

    private static func write(_ bytes: [UInt8], to output: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { sysWrite(output, $0.baseAddress!, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads standard input up to the first line end, byte by byte, so that nothing behind it is taken.
    ///
    /// - Returns: `nil` if there is nothing.
    static func readSecretLine() throws(AccountError) -> Secret? {
        var line: [UInt8] = []
        // It must not grow, which would leave a copy behind.
        line.reserveCapacity(maximumByteCount + 1)
        defer { for index in line.indices { line[index] = 0 } }
        while let byte = try readByte(), byte != UInt8(ascii: "\n") {
            line.append(byte)
            guard line.count <= maximumByteCount else {
                throw AccountError(
                    .invalidArgument, "the first line of standard input is too long for a token or password")
            }
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line.isEmpty ? nil : Secret(bytes: line)
    }

    /// Asks for a line on the terminal.
    static func prompt(_ question: String) throws -> String {
        write(Array(question.utf8), to: .error)
        guard let answer = readLine(), !answer.isEmpty else {
            throw AccountError(.invalidArgument, "nothing was entered")
        }
        return answer
    }

    /// Asks for a secret on the terminal, without showing it.
    static func promptForSecret(_ question: String) throws -> Secret {
        try promptForSecret(question, input: Stream.input.rawValue, output: Stream.error.rawValue)
    }

    /// The same, also where standard input is something else, as long as the process has a terminal.
    ///
    /// - Returns: `nil` if it has none.
    static func promptForSecretAnywhere(_ question: String) throws -> Secret? {
        if isTerminal(.input) { return try promptForSecret(question) }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        return try promptForSecret(question, input: terminal, output: terminal)
    }

    /// The terminal hands over each key, Ctrl-C included, so that whatever is typed the echo is on again afterwards.
    private static func promptForSecret(_ question: String, input: Int32, output: Int32) throws -> Secret {
        var saved = termios()
        guard tcgetattr(input, &saved) == 0 else {
            throw AccountError(.inaccessible, "the terminal cannot be used to ask for a password")
        }
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(input, TCSAFLUSH, &silent)
        // Only now, so that nothing that is typed at once is shown.
        write(Array(question.utf8), to: output)
        defer {
            tcsetattr(input, TCSAFLUSH, &saved)
            write([UInt8(ascii: "\n")], to: output)
        }
        var line: [UInt8] = []
        // It must not grow, which would leave a copy behind.
        line.reserveCapacity(maximumByteCount + 1)
        defer { for index in line.indices { line[index] = 0 } }
        while let byte = try readByte(from: input) {
            switch byte {
            case 0x03: throw AccountError(.cancelled, "interrupted: nothing was changed")
            case 0x04 where line.isEmpty: throw AccountError(.invalidArgument, "nothing was entered")
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x04:
                guard !line.isEmpty else { throw AccountError(.invalidArgument, "nothing was entered") }
                return Secret(bytes: line)
            // Backspace takes back a whole character, Ctrl-U the line.
            case 0x08, 0x7F: while let last = line.wipeLast(), last & 0xC0 == 0x80 {}
            case 0x15: while line.wipeLast() != nil {}
            default: if line.count < maximumByteCount { line.append(byte) }
            }
        }
        throw AccountError(.invalidArgument, "standard input ended before anything was entered")
    }

    private static func readByte(from input: Int32 = Stream.input.rawValue) throws(AccountError) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = sysRead(input, &byte, 1)
            if count == 1 { return byte }
            if count == 0 { return nil }
            guard errno == EINTR else {
                throw AccountError(.inaccessible, "standard input cannot be read")
            }
        }
    }
}

extension [UInt8] {
    /// Takes the last byte away, and leaves nothing of it in memory.
    fileprivate mutating func wipeLast() -> UInt8? {
        guard let last else { return nil }
        self[count - 1] = 0
        removeLast()
        return last
    }
}

private func sysRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

private func sysWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}
