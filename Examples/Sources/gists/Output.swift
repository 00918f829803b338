import AccountKit
import Foundation

/// Results go to standard output, everything else to standard error.
enum Output {
    /// - Throws: `inaccessible` if it cannot be written, as on a full disk.
    static func print(_ text: String) throws(AccountError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
        } catch {
            throw AccountError(.inaccessible, "the result could not be written: \(error.localizedDescription)")
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
        if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return self }
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

extension Date {
    /// `14:02` if it is of today, else `2026-11-22 14:02`. The formats of languages would be read first, which takes longer than
    /// all the rest of a command.
    var shown: String {
        var (seconds, now) = (time_t(timeIntervalSince1970), time(nil))
        var (parts, today) = (tm(), tm())
        localtime_r(&seconds, &parts)
        localtime_r(&now, &today)
        let isToday = parts.tm_yday == today.tm_yday && parts.tm_year == today.tm_year
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, isToday ? "%H:%M" : "%Y-%m-%d %H:%M", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
