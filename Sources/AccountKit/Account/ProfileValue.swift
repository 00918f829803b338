#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A value of a profile field: what a property list can hold.
///
/// A real without a fraction reads back as an integer: property-list decoders do not tell `3.0` from `3`. An app's own
/// `Codable` type gets the type that it asks for either way.
public enum ProfileValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case date(Date)
    case data(Data)
    case array([ProfileValue])
    case dictionary([String: ProfileValue])
}

extension ProfileValue: Codable {
    /// Reads a value of whichever kind stands there; the most frequent ones are tried first.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A decoder does not say of which kind a value is, so a failed try only means another kind; the last one throws.
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(Date.self) {
            // After the numbers, since JSON decoders take a number for a date.
            self = .date(value)
        } else if let value = try? container.decode(Data.self) {
            self = .data(value)
        } else if let value = try? container.decode([ProfileValue].self) {
            self = .array(value)
        } else {
            self = .dictionary(try container.decode([String: ProfileValue].self))
        }
    }

    /// Writes the bare value, without a tag for its kind.
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
        }
    }
}

extension ProfileValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A number with a fraction.
    public init(floatLiteral value: Double) { self = .real(value) }

    /// True or false.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }

    /// A list.
    public init(arrayLiteral elements: ProfileValue...) { self = .array(elements) }

    /// A dictionary; of two equal keys the later one counts.
    public init(dictionaryLiteral elements: (String, ProfileValue)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
