package import AccountKit
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Standard input, and questions on a terminal.
extension Terminal {
    enum SecretKind {
        /// A token or a client secret: the first line that contains more than spaces, without the spaces around it.
        case token
        /// A password: the first line with its spaces, but without its line break and a byte order mark.
        case password
    }

    /// Reads a line byte by byte, so that the input after it is not consumed; `nil` if there is no secret.
    static func readSecretLine(of kind: SecretKind) throws(AccountError) -> Secret? {
        var line: [UInt8] = []
        // The buffer must not grow: growing would leave a copy of the secret in memory.
        line.reserveCapacity(maximumByteCount + 1)
        defer { for index in line.indices { line[index] = 0 } }
        var isEnd = false
        while !isEnd {
            line.removeAll(keepingCapacity: true)
            isEnd = true
            while let byte = try readByte() {
                if byte == UInt8(ascii: "\n") {
                    isEnd = false
                    break
                }
                line.append(byte)
                guard line.count <= maximumByteCount else {
                    throw AccountError(
                        .invalidArgument, "the first line of standard input is too long for a token or password")
                }
            }
            var secret = line.firstLine
            if kind == .password {
                secret = line.withoutByteOrderMark
                if secret.last == UInt8(ascii: "\r") { secret = secret.dropLast() }
            }
            if !secret.isEmpty { return Secret(bytes: secret) }
            if kind == .password { return nil }
        }
        return nil
    }

    /// Reads all of standard input, without leaving a copy of it in memory. Throws an error if there are more than
    /// `limit` bytes.
    package static func withInput<Result>(upTo limit: Int, _ body: ([UInt8]) throws -> Result) throws -> Result {
        var bytes = [UInt8](repeating: 0, count: min(8192, limit + 1))
        var count = 0
        defer { for index in 0..<count { bytes[index] = 0 } }
        while count <= limit {
            if count == bytes.count {
                // Copy manually: an array that grows leaves a copy behind.
                var larger = [UInt8](repeating: 0, count: min(bytes.count * 4, limit + 1))
                for index in bytes.indices {
                    larger[index] = bytes[index]
                    bytes[index] = 0
                }
                bytes = larger
            }
            let received = bytes.withUnsafeMutableBytes { buffer in
                read(Stream.input.rawValue, buffer.baseAddress! + count, buffer.count - count)
            }
            if received == 0 { break }
            if received > 0 {
                count += received
            } else if errno == EAGAIN {
                wait(for: POLLIN, on: Stream.input.rawValue)
            } else if errno != EINTR {
                throw unreadableInput()
            }
        }
        guard count <= limit else {
            throw AccountError(.invalidArgument, "standard input is too long for a request of this kind")
        }
        var input = Array(bytes[..<count])
        defer { for index in input.indices { input[index] = 0 } }
        return try body(input)
    }

    /// Asks a question on a terminal, even while a token exchange delays signals.
    ///
    /// - Returns: The answer without surrounding spaces; `nil` if standard input has ended.
    static func answer(
        to question: String, within limit: Duration = .seconds(300)
    ) throws(AccountError) -> String? {
        // Discard input that was typed before the question was shown.
        tcflush(Stream.input.rawValue, TCIFLUSH)
        show(question)
        guard let line = try readLine(within: limit) else { return nil }
        return line.trimmed
    }

    /// Whether a user can read and answer questions.
    package static var canAsk: Bool { isTerminal(.input) && isTerminal(.error) }

    /// Returns whether the user answers a question with yes.
    package static func confirms(_ question: String) throws(AccountError) -> Bool {
        try ask(question).lowercased().hasPrefix("y")
    }

    /// Asks a question like ``answer(to:within:)``. If standard input has ended, the answer is empty.
    package static func ask(_ question: String) throws(AccountError) -> String { try answer(to: question) ?? "" }

    /// Reads a line byte by byte, so that the input after it is not consumed; `nil` if standard input has ended. Also
    /// throws an `Interruption` if a signal arrives while a token exchange delays signals.
    static func readLine(within limit: Duration) throws(AccountError) -> String? {
        let end = ContinuousClock.now + limit
        var line: [UInt8] = []
        while true {
            if SignalGuard.shared.isInterrupted { throw Interruption.error }
            guard ContinuousClock.now < end else { throw lateInput(limit) }
            // Limit the wait: a signal that arrives just before the call does not interrupt it.
            guard hasInput(within: 250) else { continue }
            guard let byte = try readByte() else { break }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
            guard line.count <= maximumByteCount else { throw tooLongInput }
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    static func lateInput(_ limit: Duration) -> AccountError {
        AccountError(.signInRefused, "nothing was entered within \(limit.text)")
    }

    static var tooLongInput: AccountError { AccountError(.invalidArgument, "the line is too long for an address") }

    /// Waits for input or its end for at most the given number of milliseconds.
    static func hasInput(within limit: Int32) -> Bool {
        var input = pollfd(fd: Stream.input.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, limit) > 0
    }

    /// Whether this process may use the terminal of standard input. -1: there is no job control on this terminal.
    static var isInForeground: Bool { [getpgrp(), -1].contains(tcgetpgrp(Stream.input.rawValue)) }

    /// Shows what the user types on the terminal of standard input. A failure is ignored.
    static func showInput(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        // Standard error may be a file.
        let isWritable = fcntl(Stream.input.rawValue, F_GETFL) & O_ACCMODE == O_RDWR
        guard isWritable || isTerminal(.error) else { return }
        try? write(bytes, to: isWritable ? Stream.input.rawValue : Stream.error.rawValue)
    }

    /// Shows a question. A failure is ignored.
    private static func show(_ question: String) {
        try? write(Array(question.wrapped(within: knownSize(of: .error)?.columns).utf8), to: Stream.error.rawValue)
    }

    static func prompt(_ question: String) throws -> String {
        show(question)
        guard let answer = try readLine(within: .seconds(86_400))?.trimmed, !answer.isEmpty else {
            throw AccountError(.invalidArgument, "nothing was entered")
        }
        return answer
    }

    static func promptForSecret(_ question: String) throws -> Secret {
        try promptForSecret(question, input: Stream.input.rawValue, output: Stream.error.rawValue)
    }

    /// Prompts for a secret, even if standard input is redirected; `nil` if the process has no terminal.
    static func promptForSecretAnywhere(_ question: String) throws -> Secret? {
        if isTerminal(.input) { return try promptForSecret(question) }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        return try promptForSecret(question, input: terminal, output: terminal)
    }

    /// Prompts for a secret. Reads every key itself, including Ctrl-C, so that it always restores the echo.
    private static func promptForSecret(_ question: String, input: Int32, output: Int32) throws -> Secret {
        try SignalGuard.shared.restoringTerminal(input) {
            var saved = termios()
            guard tcgetattr(input, &saved) == 0 else {
                throw AccountError(.inaccessible, "the terminal cannot be used to ask for a password")
            }
            var silent = saved
            silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
            tcsetattr(input, TCSAFLUSH, &silent)
            // Prompt only after the echo is off, so that input typed early is not shown. Ignore an error: a terminal
            // that accepts no output may still have input.
            try? write(Array(question.utf8), to: output)
            defer {
                tcsetattr(input, TCSAFLUSH, &saved)
                try? write([UInt8(ascii: "\n")], to: output)
            }
            var line: [UInt8] = []
            // The buffer must not grow: growing would leave a copy of the secret in memory.
            line.reserveCapacity(maximumByteCount + 1)
            defer { for index in line.indices { line[index] = 0 } }
            while let byte = try readByte(from: input) {
                switch byte {
                case 0x03: throw Interruption.error
                case 0x04 where line.isEmpty: throw AccountError(.invalidArgument, "nothing was entered")
                case UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x04:
                    guard !line.isEmpty else { throw AccountError(.invalidArgument, "nothing was entered") }
                    return Secret(bytes: line)
                // Backspace removes a whole character, Ctrl-U the whole line.
                case 0x08, 0x7F: while let last = line.wipeLast(), last & 0xC0 == 0x80 {}
                case 0x15: while line.wipeLast() != nil {}
                default: if line.count < maximumByteCount { line.append(byte) }
                }
            }
            throw AccountError(.invalidArgument, "standard input ended before anything was entered")
        }
    }

    private static func unreadableInput() -> AccountError {
        AccountError(
            .inaccessible, "standard input cannot be read",
            hint: "pipe the input into the command, or redirect it from a file",
            cause: SystemCallError("read", "standard input", errno: errno))
    }

    static func readByte(from input: Int32 = Stream.input.rawValue) throws(AccountError) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(input, &byte, 1)
            if count == 1 { return byte }
            if count == 0 { return nil }
            if errno == EAGAIN {
                wait(for: POLLIN, on: input)
            } else if errno != EINTR {
                throw unreadableInput()
            }
        }
    }
}

extension [UInt8] {
    /// Removes the last byte, without leaving a copy of it in memory.
    fileprivate mutating func wipeLast() -> UInt8? {
        guard let last else { return nil }
        self[count - 1] = 0
        removeLast()
        return last
    }
}

/// The error if the user presses Ctrl-C while the terminal does not send a signal.
package struct Interruption: Error, CustomStringConvertible {
    package static let error = AccountError(.cancelled, "Cancelled", cause: Interruption())

    package var description: String { "Ctrl-C" }
}
