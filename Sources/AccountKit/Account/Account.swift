#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A signed-in user: the identity at the service, the tokens and the profile.
///
/// An account is a value. Changing a copy changes nothing in the archive; see ``AccountStore/update(_:)``. Printing or
/// dumping it shows no token. It is not `Codable`, so that no token is written to a file by accident.
public struct Account: Sendable, Equatable, Identifiable {
    private struct Fields: Sendable, Equatable {
        // For a fast comparison: fields that change often first, and the tokens last.
        var verifiedAt: Date?
        let id: String
        var issuer: String?
        var username: String?
        var profile: UserProfile
        var transfer: SessionTransfer?
        var credentials: Credentials
    }

    private final class Storage: @unchecked Sendable {
        // @unchecked Sendable: only an `Account` that holds the only reference writes to it.
        var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    /// A reference, so that a copy costs the same for every profile.
    private var storage: Storage

    private var fields: Fields {
        get { storage.fields }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
            yield &storage.fields
        }
    }

    /// The id of the user at the service: the `sub` claim of OpenID Connect, or the service's own id. It never changes.
    public var id: String { fields.id }

    /// The issuer identifier of the service (RFC 8414, section 2); `nil` in an app that knows only one service.
    public var issuer: String? {
        get { fields.issuer }
        _modify { yield &fields.issuer }
    }

    /// The user name.
    public var username: String? {
        get { fields.username }
        _modify { yield &fields.username }
    }

    /// The tokens.
    public var credentials: Credentials {
        get { fields.credentials }
        _modify { yield &fields.credentials }
    }

    /// The profile fields of the user.
    public var profile: UserProfile {
        get { fields.profile }
        _modify { yield &fields.profile }
    }

    /// When the service last accepted the access token, or issued it; `nil` if it never did.
    public var verifiedAt: Date? {
        get { fields.verifiedAt }
        _modify { yield &fields.verifiedAt }
    }

    /// The storage that the session was moved to, where it is refreshed; `nil` if it was not moved.
    package var move: SessionMove? { transfer.flatMap { SessionMove(leaving: $0) } }

    var transfer: SessionTransfer? {
        get { fields.transfer }
        _modify { yield &fields.transfer }
    }

    /// Creates an account.
    public init(
        id: String, issuer: String? = nil, username: String? = nil, credentials: Credentials,
        profile: UserProfile = UserProfile(), verifiedAt: Date? = nil
    ) {
        storage = Storage(
            Fields(
                verifiedAt: verifiedAt, id: id, issuer: issuer, username: username, profile: profile,
                credentials: credentials))
    }

    /// Creates an account for a service that numbers its users.
    public init(
        id: some BinaryInteger, issuer: String? = nil, username: String? = nil, credentials: Credentials,
        profile: UserProfile = UserProfile(), verifiedAt: Date? = nil
    ) {
        self.init(
            id: String(id), issuer: issuer, username: username, credentials: credentials, profile: profile,
            verifiedAt: verifiedAt)
    }

    /// Whether all fields are equal.
    public static func == (left: Account, right: Account) -> Bool {
        left.isIdentical(to: right) || left.fields == right.fields
    }

    func isIdentical(to other: Account) -> Bool { storage === other.storage }

    /// A name for the user: the user name, full name, e-mail address, nickname or id, whichever is available first.
    public var displayName: String {
        for name in [username, profile.name, profile.email, profile.nickname] {
            if let name, name.contains(where: { !$0.isWhitespace }) { return name }
        }
        return id
    }

    /// Whether both are the same user of the same service.
    package func isSameUser(as other: Account) -> Bool {
        id == other.id && issuer == other.issuer
    }

    /// Whether both have a token in common, so that revoking one account ends the other.
    package func sharesTokens(with other: Account) -> Bool {
        guard isSameUser(as: other) else { return false }
        if let token = credentials.refreshToken, token == other.credentials.refreshToken { return true }
        return credentials.accessToken == other.credentials.accessToken
    }

    package func isSameGrant(as other: Account) -> Bool {
        isSameUser(as: other) && credentials.hasSameTokens(as: other.credentials)
    }
}

extension Account: CustomReflectable {
    /// A mirror of its properties.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "issuer": issuer as Any, "username": username as Any, "credentials": credentials,
                "profile": profile, "verifiedAt": verifiedAt as Any,
            ], displayStyle: .struct)
    }
}
