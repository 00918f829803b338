#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What is known of a user besides id, name and tokens: named values, of which the usual ones have properties.
///
/// The fields are named as OpenID Connect names its claims (OpenID Connect Core, section 5.1), so that user info goes in
/// as it comes. Fields that this version does not know stay as they are when an account is loaded and saved.
public struct UserProfile: Sendable, Hashable {
    /// All fields by their names.
    public var fields: [String: ProfileValue]

    /// A profile with the given fields.
    public init(_ fields: [String: ProfileValue] = [:]) {
        self.fields = fields
    }

    /// The field named `name`; setting `nil` removes it.
    public subscript(name: String) -> ProfileValue? {
        get { fields[name] }
        set { fields[name] = newValue }
    }

    /// Takes over the fields of `newer`, and keeps those that it does not have.
    public mutating func merge(_ newer: UserProfile) {
        fields.merge(newer.fields) { $1 }
    }
}

extension UserProfile: ExpressibleByDictionaryLiteral {
    /// A profile with the given fields.
    public init(dictionaryLiteral elements: (String, ProfileValue)...) {
        self.init(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

// MARK: The usual fields

extension UserProfile {
    /// The full name (`name`).
    public var name: String? {
        get { string("name") }
        set { fields["name"] = newValue.map { .string($0) } }
    }

    /// The casual name (`nickname`).
    public var nickname: String? {
        get { string("nickname") }
        set { fields["nickname"] = newValue.map { .string($0) } }
    }

    /// The name by which the user wants to be called at the service (`preferred_username`).
    public var preferredUsername: String? {
        get { string("preferred_username") }
        set { fields["preferred_username"] = newValue.map { .string($0) } }
    }

    /// The e-mail address (`email`).
    public var email: String? {
        get { string("email") }
        set { fields["email"] = newValue.map { .string($0) } }
    }

    /// Whether the service made sure that the e-mail address is the user's (`email_verified`).
    public var isEmailVerified: Bool? {
        get { if case .boolean(let value)? = fields["email_verified"] { value } else { nil } }
        set { fields["email_verified"] = newValue.map { .boolean($0) } }
    }

    /// The address of a picture of the user (`picture`).
    public var picture: String? {
        get { string("picture") }
        set { fields["picture"] = newValue.map { .string($0) } }
    }

    /// The telephone number (`phone_number`).
    public var phoneNumber: String? {
        get { string("phone_number") }
        set { fields["phone_number"] = newValue.map { .string($0) } }
    }

    /// The groups that the user belongs to (`groups`). A single group that stands there as a string is a list of one.
    public var groups: [String] {
        get {
            switch fields["groups"] {
            case .array(let values)?: values.compactMap { if case .string(let value) = $0 { value } else { nil } }
            case .string(let value)?: [value]
            default: []
            }
        }
        set { fields["groups"] = newValue.isEmpty ? nil : .array(newValue.map { .string($0) }) }
    }

    /// When the profile was last changed (`updated_at`, in seconds since 1970 as OpenID Connect has it, or a date).
    public var updatedAt: Date? {
        get { date("updated_at") }
        set { fields["updated_at"] = newValue.map { .date($0) } }
    }

    /// When the user registered (`registered_at`).
    public var registeredAt: Date? {
        get { date("registered_at") }
        set { fields["registered_at"] = newValue.map { .date($0) } }
    }

    /// Points that the user has collected (`points`).
    public var points: Int64? {
        get { if case .integer(let value)? = fields["points"] { value } else { nil } }
        set { fields["points"] = newValue.map { .integer($0) } }
    }

    /// The text that the user signs with (`signature_text`).
    public var signatureText: String? {
        get { string("signature_text") }
        set { fields["signature_text"] = newValue.map { .string($0) } }
    }

    /// The user's number at QQ (`qq_number`).
    public var qqNumber: String? {
        get { string("qq_number") }
        set { fields["qq_number"] = newValue.map { .string($0) } }
    }

    private func string(_ name: String) -> String? {
        if case .string(let value)? = fields[name] { value } else { nil }
    }

    private func date(_ name: String) -> Date? {
        switch fields[name] {
        case .date(let value)?: value
        case .integer(let seconds)?: Date(timeIntervalSince1970: TimeInterval(seconds))
        case .real(let seconds)?: Date(timeIntervalSince1970: seconds)
        default: nil
        }
    }
}

// MARK: An app's own type

extension UserProfile {
    /// The fields of an app's own type, named by its coding keys.
    ///
    /// - Throws: `EncodingError` if `value` does not encode as a dictionary of property-list values.
    public init(encoding value: some Encodable) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        self.init(try PropertyListDecoder().decode([String: ProfileValue].self, from: try encoder.encode(value)))
    }

    /// The fields as an app's own type; fields that the type does not have are left out.
    ///
    /// - Throws: `DecodingError` if a field is missing or of another kind.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try PropertyListDecoder().decode(type, from: try encoder.encode(fields))
    }
}
