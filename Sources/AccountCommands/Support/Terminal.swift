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
    static func knownSize(of stream: Stream) -> TerminalSize? {
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

    /// Prints a paragraph. On a terminal, breaks it between words, and indents all lines but the first by two more
    /// columns.
    static func printParagraph(_ text: String, mark: StyledText.Mark? = nil, indent: Int = 0) throws {
        let margin = String(repeating: " ", count: indent)
        let text = text.shown.inCommandWords
        let lines = isTerminal(.output) ? text.lines(within: size(of: .output).columns - indent - 2) : [text]
        try printLine(mark, styled: StyledText(margin + lines.joined(separator: "\n  " + margin)))
    }

    /// Prints a value after its label. On a terminal, breaks it between words, below its first line.
    static func printRow(_ label: String, _ value: String, isBold: Bool) throws {
        let width = knownSize(of: .output)?.columns
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

    static func write(_ bytes: [UInt8], to output: Int32) throws(SystemCallError) {
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
    static func wait(for event: Int32, on descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        _ = poll(&entry, 1, -1)
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
