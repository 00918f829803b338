import AccountKit
import Foundation

/// Results go to standard output, everything else to standard error.
enum Output {
    /// - Throws: `inaccessible` if it cannot be written, as on a full disk.
    static func print(_ text: String) throws(AccountError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
        } catch {
            throw AccountError(.inaccessible, "the result could not be written", cause: error)
        }
    }

    /// Writes a text as it is, without a line end of its own.
    static func write(_ text: String) throws(AccountError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            throw AccountError(.inaccessible, "the text could not be written", cause: error)
        }
    }

    static func print(json document: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        try print(String(decoding: encoder.encode(document), as: UTF8.self))
    }

    /// It is not an error if nobody can read it.
    static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}

extension String {
    /// In one line, and without characters that control a terminal.
    var shown: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                text.unicodeScalars.append("\u{FFFD}")
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
