public import AccountKit
import Foundation

/// Writes results to standard output, and everything else to standard error.
public enum Output {
    /// Prints a line.
    ///
    /// - Throws: `inaccessible` if it cannot be written, for example on a full disk.
    public static func print(_ text: String) throws(AccountError) { try write(text + "\n") }

    /// Writes a string without a line end.
    ///
    /// - Throws: `inaccessible` if it cannot be written, for example on a full disk. The cause is a `POSIXError`, so that
    ///   `runTool` ends the tool silently if the reader of a pipe wants no more.
    public static func write(_ text: String) throws(AccountError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            let system = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            let number = system?.domain == NSPOSIXErrorDomain ? system.map { Int32($0.code) } : nil
            let code = number.flatMap { POSIXErrorCode(rawValue: $0) }
            throw AccountError(
                .inaccessible, "the result could not be written", cause: code.map { POSIXError($0) } ?? error)
        }
    }

    /// Writes the content of a file: unchanged to a file or a pipe, but on a terminal with escapes for characters that
    /// control it.
    ///
    /// - Throws: `inaccessible` if it cannot be written, for example on a full disk.
    public static func write(content: String) throws(AccountError) {
        try write(isatty(STDOUT_FILENO) == 1 ? content.escapedForTerminal : content)
    }

    /// Prints a document in JSON, with dates in ISO 8601. Text from a service cannot control the terminal.
    public static func print(json document: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        try print(String(decoding: encoder.encode(document), as: UTF8.self).escapingDisplayControls)
    }

    /// Writes a message to standard error. A closed standard error is not an error.
    public static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
