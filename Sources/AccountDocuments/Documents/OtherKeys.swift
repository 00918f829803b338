#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The members of a dictionary that a type does not use: those of other programs, or of a newer version of the app.
///
/// Without this value, `Codable` drops the members that a type does not know when it saves a document. With it, they
/// survive reading, changing and writing:
///
/// ```swift
/// struct Note: Codable {
///     var title: String
///     private var others = OtherKeys()
///
///     enum CodingKeys: CodingKey, CaseIterable { case title }
///
///     init(from decoder: any Decoder) throws {
///         title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
///         others = try OtherKeys(in: decoder, besides: CodingKeys.self)
///     }
///
///     func encode(to encoder: any Encoder) throws {
///         var container = encoder.container(keyedBy: CodingKeys.self)
///         try container.encode(title, forKey: .title)
///         try others.encode(to: encoder)
///     }
/// }
/// ```
///
/// Values keep their type, except a real number without a fraction, which is saved as an integer.
public struct OtherKeys: Sendable, Hashable {
    private var values: [String: PropertyListValue] = [:]

    /// Whether there are no other members.
    public var isEmpty: Bool { values.isEmpty }

    /// Creates a value without members, for a new dictionary.
    public init() {}

    /// Reads the members of a dictionary that a type does not use.
    ///
    /// - Parameters:
    ///   - decoder: The decoder of the dictionary.
    ///   - known: The keys that the type uses.
    public init<Known: CodingKey & CaseIterable>(in decoder: any Decoder, besides known: Known.Type) throws {
        let known = Set(Known.allCases.map(\.stringValue))
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys where !known.contains(key.stringValue) {
            values[key.stringValue] = try container.decode(PropertyListValue.self, forKey: key)
        }
    }

    /// Returns these members, and those of another dictionary whose keys they do not contain.
    public func merging(_ others: OtherKeys) -> OtherKeys {
        var merged = self
        merged.values.merge(others.values) { own, _ in own }
        return merged
    }

    /// Adds the members to the dictionary of an encoder.
    public func encode(to encoder: any Encoder) throws {
        guard !isEmpty else { return }
        var container = encoder.container(keyedBy: AnyKey.self)
        for (key, value) in values { try container.encode(value, forKey: AnyKey(stringValue: key)) }
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Any value of a property list.
private enum PropertyListValue: Codable, Sendable, Hashable {
    case string(String)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case boolean(Bool)
    case date(Date)
    case data(Data)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])

    /// The text that `PropertyListEncoder` writes for a missing value, and that a decoder does not read as text.
    private static let null = "$null"

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: AnyKey.self) {
            var members: [String: PropertyListValue] = [:]
            for key in container.allKeys {
                members[key.stringValue] = try container.decode(PropertyListValue.self, forKey: key)
            }
            self = .dictionary(members)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [PropertyListValue] = []
            while !container.isAtEnd { elements.append(try container.decode(PropertyListValue.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .string(Self.null)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(Date.self) {
            self = .date(value)
        } else {
            self = .data(try container.decode(Data.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        if case .dictionary(let members) = self {
            var container = encoder.container(keyedBy: AnyKey.self)
            for (key, value) in members { try container.encode(value, forKey: AnyKey(stringValue: key)) }
            return
        }
        if case .array(let elements) = self {
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
            return
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array, .dictionary: break
        }
    }
}
