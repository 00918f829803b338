package import AccountKit
import CAccountKitShims
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Standard input, output and error. Only this type makes system calls on these streams.
package enum Terminal {
    package enum Stream: Int32 {
        case input = 0
        case output = 1
        case error = 2
    }

    /// The maximum length of a line, more than any token or password needs.
    static let maximumByteCount = 64 * 1024

    package static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

    static func size(of stream: Stream) -> TerminalSize {
        knownSize(of: stream) ?? TerminalSize(columns: 80, rows: 24)
    }

    /// Returns `nil` for a stream that is not a terminal, and for a terminal that does not know its size.
    private static func knownSize(of stream: Stream) -> TerminalSize? {
        var size = winsize()
        guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return nil
        }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    // MARK: Writing

    /// Moves to the start of the line, and erases it (CSI K: ECMA-48, section 8.3.41) if the terminal can do so.
    static var lineStart: String { isDumb ? "\r" : "\r\u{1B}[K" }

    /// Whether the terminal only shows text.
    static var isDumb: Bool { Environment.value("TERM") == "dumb" }

    /// Prints one or more lines on standard error. A failure is ignored.
    package static func say(_ text: String) { say(nil, StyledText(text)) }

    /// Prints a message on standard error, with a symbol in front on a terminal. A failure is ignored.
    package static func say(_ mark: StyledText.Mark?, _ text: StyledText) {
        let text = text.rendered(with: mark, isStyled: isStyled(.error)).inCommandWords
        let lines = text.wrapped(within: knownSize(of: .error)?.columns) + "\n"
        try? write(Array(lines.utf8), to: Stream.error.rawValue)
    }

    /// Prints an error on standard error: the name of the tool and the message, then the hint on an indented line.
    ///
    /// - Parameter isOneLine: Whether the hint follows on the same line.
    package static func say(_ error: AccountError, onOneLine isOneLine: Bool = false) {
        if error.cause is Interruption { return say("Cancelled.") }
        let secrets = ArgumentSecrets.given
        if isOneLine {
            return say(.failure, StyledText("\(CommandLine.toolName): \(secrets.hidden(in: error.userText))"))
        }
        var text = "\(CommandLine.toolName): \(error.problem)"
        if let hint = error.hint { text += "\n  " + hint.prefix(1).uppercased() + hint.dropFirst() + "." }
        say(.failure, StyledText(secrets.hidden(in: text)))
    }

    /// Whether output to a stream may contain colors and symbols: only on a terminal, and not if `NO_COLOR` is set
    /// (no-color.org) or if `TERM` is `dumb` or not set.
    package static func isStyled(_ stream: Stream) -> Bool {
        guard isTerminal(stream), Environment.value("NO_COLOR") == nil, let kind = Environment.value("TERM") else {
            return false
        }
        return kind != "dumb"
    }

    static func rewriteLine(_ text: String) {
        // While the process is ending, another thread writes to the terminal.
        guard accountkit_signals_is_ending() == 0 else { return }
        try? write(Array((lineStart + text).utf8), to: Stream.error.rawValue)
    }

    /// - Throws: An `AccountError` with the cause if writing failed, or ``ClosedOutput``.
    package static func printLine(_ text: String) throws { try printText(text.shown + "\n") }

    package static func printLine(_ mark: StyledText.Mark? = nil, styled text: StyledText) throws {
        try printText(text.rendered(with: mark, isStyled: isStyled(.output)).inCommandWords + "\n")
    }

    /// Prints a paragraph without the secrets among the arguments. On a terminal, breaks it between words, and indents all
    /// lines but the first by two more columns.
    static func printParagraph(_ text: String, mark: StyledText.Mark? = nil, indent: Int = 0) throws {
        let margin = String(repeating: " ", count: indent)
        let text = ArgumentSecrets.given.hidden(in: text.shown.inCommandWords)
        let lines = isTerminal(.output) ? text.lines(within: size(of: .output).columns - indent - 2) : [text]
        try printLine(mark, styled: StyledText(margin + lines.joined(separator: "\n  " + margin)))
    }

    /// Prints a value after its label, without the secrets among the arguments. On a terminal, breaks it between words, below
    /// its first line.
    static func printRow(_ label: String, _ value: String, isBold: Bool) throws {
        let width = knownSize(of: .output)?.columns
        let value = ArgumentSecrets.given.hidden(in: value)
        let lines = width.map { value.shown.lines(within: $0 - label.columnCount) } ?? [value]
        for (index, line) in lines.enumerated() {
            let margin = index == 0 ? label : "".padding(to: label.columnCount)
            try printLine(styled: isBold ? "\(margin)\(bold: line)" : "\(margin)\(line)")
        }
    }

    /// Prints rows in columns below a heading.
    package static func printTable(_ heading: [String], _ rows: [[String]]) throws {
        let rows = [heading] + rows.map { $0.map(\.shown) }
        let widths = heading.indices.map { column in rows.map { $0[column].columnCount }.max() ?? 0 }
        for (index, row) in rows.enumerated() {
            var line = ""
            for (cell, width) in zip(row, widths) { line += cell.padding(to: width + 2) }
            line = String(line.reversed().drop { $0 == " " }.reversed())
            try printLine(styled: index == 0 ? "\(bold: line)" : "\(line)")
        }
    }

    package static func printText(_ text: String) throws {
        try printOutput(Array(text.utf8))
    }

    /// Prints a secret without creating a string of it.
    package static func printLine(_ secret: Secret) throws { try print([.secret(secret), .text("\n")]) }

    /// Prints pieces of text with a single write, without creating strings of the secrets.
    package static func print(_ pieces: [OutputPiece]) throws {
        let count = pieces.reduce(0) { $0 + $1.byteCount }
        var bytes: [UInt8] = []
        // The buffer must not grow: growing would leave a copy of the secret in memory.
        bytes.reserveCapacity(count)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        for piece in pieces {
            switch piece {
            case .text(let text): bytes.append(contentsOf: text.utf8)
            case .secret(let secret):
                secret.withBytes { span in
                    for index in span.byteOffsets {
                        bytes.append(span.unsafeLoad(fromByteOffset: index, as: UInt8.self))
                    }
                }
            }
        }
        try printOutput(bytes)
    }

    package struct ClosedOutput: Error {}

    private static func printOutput(_ bytes: [UInt8]) throws {
        do {
            try write(bytes, to: Stream.output.rawValue)
        } catch {
            if error.errno == EPIPE { throw ClosedOutput() }
            throw AccountError(.inaccessible, "cannot write the result", cause: error)
        }
    }

    private static func write(_ bytes: [UInt8], to output: Int32) throws(SystemCallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { accountkit_write(output, $0.baseAddress!, $0.count) }
            if count < 0, errno == EAGAIN {
                // A parent process left the stream nonblocking.
                wait(for: POLLOUT, on: output)
                continue
            }
            guard count > 0 else {
                let name = Stream(rawValue: output) == .output ? "standard output" : "the terminal"
                throw SystemCallError("write", name, errno: count < 0 ? errno : EIO)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until a nonblocking stream is ready, or has failed.
    private static func wait(for event: Int32, on descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        _ = poll(&entry, 1, -1)
    }

    // MARK: Reading

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

package enum OutputPiece {
    case text(String)
    case secret(Secret)

    fileprivate var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .secret(let secret): secret.withBytes { $0.byteCount }
        }
    }
}

package struct TerminalSize: Equatable {
    var columns: Int
    var rows: Int
}

/// The error if the user presses Ctrl-C while the terminal does not send a signal.
package struct Interruption: Error, CustomStringConvertible {
    package static let error = AccountError(.cancelled, "Cancelled", cause: Interruption())

    package var description: String { "Ctrl-C" }
}
