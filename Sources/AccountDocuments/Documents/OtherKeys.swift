import AccountKit
import AccountSupport

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
/// Values keep their type, except a real number without a fraction, which is saved as an integer. A document with other
/// values, such as a reference (UID) of a keyed archive, cannot be read, and stays unchanged.
public struct OtherKeys: Sendable, Hashable {
    private var values: [String: PropertyListValue] = [:]

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
        guard !values.isEmpty else { return }
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
private struct PropertyListValue: Codable, Sendable, Hashable {
    /// The types, the most frequent first. Integers come before real numbers, which a decoder reads from integers, too.
    private static let types: [any (Codable & Sendable & Hashable).Type] = [
        String.self, Int64.self, Bool.self, [Self].self, [String: Self].self, UInt64.self, Double.self, Date.self,
        Data.self,
    ]

    private let value: any (Codable & Sendable & Hashable)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The text that `PropertyListEncoder` writes for a missing value, and that a decoder does not read as text.
        if container.decodeNil() {
            value = "$null"
            return
        }
        for type in Self.types {
            if let value = try? container.decode(type) {
                self.value = value
                return
            }
        }
        let reason = "a value cannot be kept: a number that is too large, or a reference (UID) of a keyed archive"
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: decoder.codingPath, debugDescription: reason,
                underlyingError: PropertyListDocument.Unreadable(reason)))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    static func == (one: Self, other: Self) -> Bool { AnyHashable(one.value) == AnyHashable(other.value) }

    func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}
