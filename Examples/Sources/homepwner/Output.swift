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

/// An item in JSON; see the help.
struct ItemDocument: Encodable {
    let id: String
    let name: String
    let serial: String?
    let value: Int?
    let createdAt: Date
    let photo: Bool

    init(_ item: Item) {
        id = item.id
        name = item.name
        serial = item.serial
        value = item.value
        createdAt = item.createdAt
        photo = item.photo != nil
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
