package import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A value of a profile field, of a type that a property list supports.
///
/// A real number without a fraction is decoded as an integer, since property-list decoders do not distinguish `3.0`
/// from `3`. If an app decodes its own `Codable` type, each property has the type that the app declares.
public enum ProfileValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case date(Date)
    case data(Data)
    case array([ProfileValue])
    case dictionary([String: ProfileValue])

    /// JSON's `null`. A profile does not store `null`: a field with this value counts as missing.
    case null
}

extension ProfileValue {
    /// Whether the value is `null`. The pattern match is cheaper than a comparison with `==`.
    var isNull: Bool { if case .null = self { true } else { false } }
}

extension ProfileValue: Codable {
    /// Decodes a value of any type, and tries the most frequent types first.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A decoder does not report a value's type, so a failed attempt means that the value has another type. The last
        // attempt throws.
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
        } else if let value = try? container.decode(Date.self) {
            // Try a date after the numbers, since a JSON decoder decodes a number as a date.
            self = .date(value)
        } else if let value = try? container.decode(Data.self) {
            self = .data(value)
        } else if let value = try? container.decode([ProfileValue].self) {
            self = .array(value)
        } else {
            self = .dictionary(try container.decode([String: ProfileValue].self))
        }
    }

    /// Encodes the value without its type.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        case .null: try container.encodeNil()
        }
    }
}

extension ProfileValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// Creates a number with a fraction.
    public init(floatLiteral value: Double) { self = .real(value) }

    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }

    /// Creates a list.
    public init(arrayLiteral elements: ProfileValue...) { self = .array(elements) }

    /// Creates a dictionary. If a key appears twice, the last value is used.
    public init(dictionaryLiteral elements: (String, ProfileValue)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension JSONValue {
    /// The value as a profile value; `nil` for null. Nulls inside arrays and objects are left out.
    package var profileValue: ProfileValue? {
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
