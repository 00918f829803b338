#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value of a property list, with texts and data still where they are in the file.
indirect enum LegacyValue {
    case null
    case boolean(Bool)
    case integer(Int128)
    case real(Double)
    case date(Date)
    case text(SourceText)
    case data(SourceData)
    case array([LegacyValue])
    case dictionary([String: LegacyValue])

    /// In a keyed archive: the object at this place of `$objects`.
    case reference(Int)

    /// In a keyed archive: an object that no property list can hold.
    case object

    /// What it is, for a person. Says nothing that comes from the file, where a class may be named like a token.
    var kind: String {
        switch self {
        case .null: "nothing"
        case .boolean: "a truth value"
        case .integer: "a whole number"
        case .real: "a number"
        case .date: "a date"
        case .text: "a text"
        case .data: "data"
        case .array: "a list"
        case .dictionary: "a dictionary"
        case .reference: "a reference"
        case .object: "an object of the old app's own"
        }
    }
}

/// A text in a file, not yet copied out of it.
enum SourceText {
    case ascii(Range<Int>)
    case utf16BigEndian(Range<Int>)

    /// What stands between two tags: UTF-8 with entities and CDATA sections.
    case xml(Range<Int>)

    /// A text that is not in the file as such.
    case made(String)
}

/// Data in a file, not yet copied out of it.
enum SourceData {
    case raw(Range<Int>)
    case base64(Range<Int>)

    /// How many bytes it has in the file.
    var byteCount: Int {
        switch self {
        case .raw(let range), .base64(let range): range.count
        }
    }
}
