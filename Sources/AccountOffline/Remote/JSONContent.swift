#if Offline
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The content of a JSON text, independent of the order of members and of spaces.
enum JSONContent: Decodable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONContent])
    case object([String: JSONContent])

    /// - Throws: If it is not JSON.
    init(_ text: Data) throws { self = try JSONDecoder().decode(JSONContent.self, from: text) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Each is a guess, and the last one says what is wrong.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONContent].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONContent].self))
        }
    }
}
#endif
