#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The profile of a user: named fields. The standard fields have properties.
///
/// The names of the fields are those of OpenID Connect claims (OpenID Connect Core, section 5.1). When AccountKit loads
/// and saves an account, it keeps fields that this version does not define.
///
/// ## Your own profile fields
///
/// An app can store a `Codable` type beside the claims of the service, in the same encrypted archive. Each property of
/// the type is a field, and the coding key is the name of the field. Pass default values: after the first sign-in, the
/// profile contains only the claims of the service.
///
/// ```swift
/// struct Settings: Codable {
///     var theme = "light"
///     var pageSize = 50
/// }
///
/// try await store.updateFields(default: Settings()) { settings in settings.theme = "dark" }
///
/// let settings = try store.account?.profile.decoded(default: Settings())  // `pageSize` was never set: 50
/// ```
///
/// Each check of the session merges the claims of the service into the profile. The claims replace fields of the same
/// name, so choose names that the service does not use, such as `notes_theme`. If the same user signs in again, the
/// profile keeps the app's fields, even if the service ended the session or another user signed in before. Only the
/// user's own sign-out removes them. If another user signs in, the new profile contains only the claims of the service.
public struct UserProfile: Sendable, Hashable {
    /// All fields by their names.
    public var fields: [String: ProfileValue]

    /// Creates a profile with the given fields, without `null` values.
    public init(_ fields: [String: ProfileValue] = [:]) {
        self.fields = fields.values.contains(where: \.isNull) ? fields.filter { !$0.value.isNull } : fields
    }

    /// The field named `name`; setting `nil` removes it.
    public subscript(name: String) -> ProfileValue? {
        get { fields[name] }
        set { fields[name] = newValue }
    }

    /// Replaces the fields that `newer` contains, and keeps the other fields.
    ///
    /// If a property of the app's type is `nil`, its field is not in `newer` and stays unchanged. To remove a field,
    /// assign `nil` to it with the subscript.
    public mutating func merge(_ newer: UserProfile) {
        fields.merge(newer.fields) { $1 }
    }

    /// Changes the fields that differ between `before` and `newer`, and keeps the other fields.
    mutating func apply(_ newer: UserProfile, since before: UserProfile) {
        for name in Set(before.fields.keys).union(newer.fields.keys) where newer[name] != before[name] {
            self[name] = newer[name]
        }
    }

    func merging(_ newer: UserProfile) -> UserProfile {
        var result = self
        result.merge(newer)
        return result
    }
}

extension UserProfile: ExpressibleByDictionaryLiteral {
    /// Creates a profile with the given fields.
    public init(dictionaryLiteral elements: (String, ProfileValue)...) {
        self.init(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

// MARK: Standard fields

extension UserProfile {
    /// The full name (`name`).
    public var name: String? {
        get { string("name") }
        set { fields["name"] = newValue.map { .string($0) } }
    }

    /// The nickname (`nickname`).
    public var nickname: String? {
        get { string("nickname") }
        set { fields["nickname"] = newValue.map { .string($0) } }
    }

    /// The preferred user name at the service (`preferred_username`).
    public var preferredUsername: String? {
        get { string("preferred_username") }
        set { fields["preferred_username"] = newValue.map { .string($0) } }
    }

    /// The e-mail address (`email`).
    public var email: String? {
        get { string("email") }
        set { fields["email"] = newValue.map { .string($0) } }
    }

    /// Whether the service has verified the e-mail address (`email_verified`).
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

    /// The groups of the user (`groups`). A string counts as a list with one group.
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

    /// The date when the profile was last changed (`updated_at`, in seconds since 1970 as in OpenID Connect, or a
    /// date).
    public var updatedAt: Date? {
        get { date("updated_at") }
        set { fields["updated_at"] = newValue.map { .date($0) } }
    }

    /// The date when the user registered (`registered_at`).
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
