import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value of a property list. Any text or data may hold a token, so they stand in memory that is wiped.
indirect enum LegacyValue {
    case null
    case boolean(Bool)
    case integer(Int128)
    case real(Double)
    case date(Date)
    /// In UTF-8.
    case text(WipedBytes)
    /// A text that is not in its encoding: no reason to refuse the file, as long as no field needs it.
    case undecodable
    case data(WipedBytes)
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
        case .undecodable: "a damaged text"
        case .data: "data"
        case .array: "a list"
        case .dictionary: "a dictionary"
        case .reference: "a reference"
        case .object: "an object of the old app's own"
        }
    }

    /// Without the bytes of its elements.
    var byteCount: Int {
        switch self {
        case .text(let bytes), .data(let bytes): bytes.count
        default: 0
        }
    }

    /// Of a text or whole number.
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
        // Archivers keep equal numbers once, so a 1 that was met as `true` before comes back as `true`.
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
