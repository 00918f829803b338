#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What is known of a user besides id, name and tokens: named values, of which the usual ones have properties.
///
/// The fields are named as OpenID Connect names its claims (OpenID Connect Core, section 5.1), so that user info goes in
/// as it comes. Fields that this version does not know stay as they are when an account is loaded and saved.
///
/// ## A profile of your own
///
/// An app's own `Codable` type is stored beside the service's claims, in the same encrypted archive. Each of its properties is a
/// field, named by its coding key. Make every property optional, or pass the values that it starts with: after a first sign-in
/// there is only what the service said.
///
/// ```swift
/// struct Settings: Codable {
///     var theme: String?
///     var pageSize: Int?
/// }
///
/// let fields = try UserProfile(encoding: Settings(theme: "dark"))
/// try await store.update { $0.profile.merge(fields) }
///
/// let settings = try user.profile.decoded(as: Settings.self)  // `pageSize` was never set: nil
/// ```
///
/// The service's claims win: each check of the session merges what the service says, so a field that has the name of a claim
/// becomes the service's. Choose names that the service does not use, such as `notes_theme`. A sign-in begins with the service's
/// claims alone.
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
    ///
    /// A property that is `nil` is no field, so it removes nothing; set the field itself to `nil` for that.
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
    /// The fields of an app's own type, named by its coding keys; those that are `nil` are left out.
    ///
    /// - Throws: `EncodingError` if `value` does not encode as a dictionary of property-list values.
    public init(encoding value: some Encodable) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        self.init(try PropertyListDecoder().decode([String: ProfileValue].self, from: try encoder.encode(value)))
    }

    /// The fields as an app's own type; fields that the type does not have are left out.
    ///
    /// A field that was never set is *not* an error where the property is optional. For properties that are not, see
    /// ``decoded(default:)``.
    ///
    /// - Throws: `DecodingError` if a field is of another kind, or missing and its property not optional.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try PropertyListDecoder().decode(type, from: try encoder.encode(fields))
    }

    /// The fields as an app's own type, with those of `value` where none was ever set.
    ///
    /// - Throws: `DecodingError` if a field is of another kind.
    public func decoded<Value: Codable>(default value: Value) throws -> Value {
        var profile = try UserProfile(encoding: value)
        profile.merge(self)
        return try profile.decoded()
    }
}
