#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

package typealias JSONObject = [String: JSONValue]

/// A JSON value (RFC 8259, section 3).
package enum JSONValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Parses an object. Returns `nil` if the text is not an object, or if it exceeds the limits that protect against
    /// hostile text: parsing such a text could exhaust the stack or take minutes.
    // Inlined, so that the runtime does not have to look up the type by its name.
    @inlinable
    package static func object(from text: some Collection<UInt8>) -> JSONObject? {
        let read: JSONObject?? = text.withContiguousStorageIfAvailable { object(from: UnsafeRawBufferPointer($0)) }
        return read ?? Array(text).withUnsafeBytes { object(from: $0) }
    }

    package static func object(from bytes: UnsafeRawBufferPointer) -> JSONObject? {
        guard isBounded(bytes) else { return nil }
        // Drop the error, which would quote the text.
        return try? JSONDecoder().decode(Members.self, from: Data(bytes)).object
    }

    /// Returns whether the text has at most 32 levels and 10,000 values, and no zero bytes. Zero bytes occur in UTF-16
    /// and UTF-32, which would hide brackets from this check (RFC 8259, section 8.1).
    private static func isBounded(_ text: UnsafeRawBufferPointer) -> Bool {
        var (depth, values, isInString, isEscaped) = (0, 0, false, false)
        for byte in text {
            switch byte {
            case 0: return false
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "{"), UInt8(ascii: "["): (depth, values) = (depth + 1, values + 1)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): values += 1
            default: break
            }
            guard depth <= 32, values <= 10_000 else { return false }
        }
        return true
    }

    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}

/// The members of an object. This type exists because the Swift runtime would search all conformances of the program to
/// decode a dictionary.
private struct Members: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    let object: JSONObject

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        var object = JSONObject(minimumCapacity: container.allKeys.count)
        for name in container.allKeys { object[name.stringValue] = try container.decode(JSONValue.self, forKey: name) }
        self.object = object
    }
}

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A decoder does not report the type of a value, so try each type in turn. Only the last attempt throws its
        // error.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode(Members.self).object)
        }
    }
}
