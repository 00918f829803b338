import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value of a property list. Any text or data may contain a token, so this type keeps text and data in memory that is
/// wiped.
indirect enum LegacyValue {
    case null
    case boolean(Bool)
    case integer(Int128)
    case real(Double)
    case date(Date)
    /// A string in UTF-8.
    case text(WipedBytes)
    /// A string that is invalid in its encoding. This is an error only if a required field has this value.
    case undecodable
    case data(WipedBytes)
    case array([LegacyValue])
    case dictionary([String: LegacyValue])

    /// In a keyed archive: a reference to the object at this index of `$objects`.
    case reference(Int)

    /// In a keyed archive: an object that a property list cannot represent.
    case object

    /// The kind of value, for messages. The text does not quote the file, in which even a class name may be a token.
    var kind: String {
        switch self {
        case .null: "nothing"
        case .boolean: "a boolean"
        case .integer: "a whole number"
        case .real: "a number"
        case .date: "a date"
        case .text: "a string"
        case .undecodable: "a damaged string"
        case .data: "data"
        case .array: "a list"
        case .dictionary: "a dictionary"
        case .reference: "a reference"
        case .object: "an object of one of the old app's classes"
        }
    }

    var byteCount: Int {
        switch self {
        case .text(let bytes), .data(let bytes): bytes.count
        default: 0
        }
    }

    /// The text of a string or a whole number.
    var string: String? {
        switch self {
        case .text(let text): String(decoding: text, as: UTF8.self)
        case .integer(let number): String(number)
        case .real(let number): Int64(exactly: number).map { String($0) }
        default: nil
        }
    }

    var integer: Int64? {
        switch self {
        case .integer(let number): Int64(exactly: number)
        case .real(let number): Int64(exactly: number)
        // Archivers store equal numbers only once, so a 1 may appear as `true` if the archive already contained `true`.
        case .boolean(let value): value ? 1 : 0
        case .text: string.flatMap { Int64($0) }
        default: nil
        }
    }

    var boolean: Bool? {
        switch self {
        case .boolean(let value): value
        case .integer(0): false
        case .integer(1): true
        case .text: string.flatMap { Bool($0.lowercased()) }
        default: nil
        }
    }

    var date: Date? {
        switch self {
        case .date(let date): LegacyDate.isInCalendar(date) ? date : nil
        case .integer(let seconds): LegacyDate.unixDate(Double(seconds))
        case .real(let seconds): LegacyDate.unixDate(seconds)
        case .text: string.flatMap { LegacyDate.date($0) }
        default: nil
        }
    }
}
