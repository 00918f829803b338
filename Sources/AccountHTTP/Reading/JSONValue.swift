import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

typealias JSONObject = [String: JSONValue]

/// A JSON value, whatever it is.
enum JSONValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The value as a field of a profile; `nil` for null, also inside lists and objects.
    var profileValue: ProfileValue? {
        switch self {
        case .null: nil
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .string(let value): .string(value)
        case .array(let values): .array(values.compactMap(\.profileValue))
        case .object(let members): .dictionary(members.compactMapValues(\.profileValue))
        }
    }
}

extension JSONValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
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
            self = .object(try container.decode(JSONObject.self))
        }
    }
}
