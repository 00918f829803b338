#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A signed-in user: who they are at the service, their tokens and their profile.
///
/// A value: changing a copy changes nothing that is stored; see ``AccountStore/update(_:)``. It can be printed and
/// dumped without showing a token. It is deliberately not `Codable`, so that no token ends in a file by accident.
public struct Account: Sendable, Equatable, Identifiable {
    private struct Fields: Sendable, Equatable {
        // Those that change most often first, and the tokens, which take longest to compare, last.
        var verifiedAt: Date?
        let id: String
        var issuer: String?
        var username: String?
        var profile: UserProfile
        var transfer: SessionTransfer?
        var credentials: Credentials
    }

    private final class Storage: @unchecked Sendable {
        // @unchecked Sendable: written to only through an `Account` that holds the only reference.
        var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    /// One reference, so that a copy costs the same however much is known of a user.
    private var storage: Storage

    private var fields: Fields {
        get { storage.fields }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
            yield &storage.fields
        }
    }

    /// The user at the service: OpenID Connect's `sub`, or the service's own id. Never changes for a user.
    public var id: String { fields.id }

    /// The service, as an issuer identifier (RFC 8414, section 2); `nil` for an app that knows one service only.
    public var issuer: String? {
        get { fields.issuer }
        _modify { yield &fields.issuer }
    }

    /// The name that the user signs in with or is known by.
    public var username: String? {
        get { fields.username }
        _modify { yield &fields.username }
    }

    /// The tokens.
    public var credentials: Credentials {
        get { fields.credentials }
        _modify { yield &fields.credentials }
    }

    /// Everything else that is known of the user.
    public var profile: UserProfile {
        get { fields.profile }
        _modify { yield &fields.profile }
    }

    /// When the service last accepted the access token, or issued it; `nil` if it never did.
    public var verifiedAt: Date? {
        get { fields.verifiedAt }
        _modify { yield &fields.verifiedAt }
    }

    /// Where this sign-in was moved to: then it is refreshed there, and never here; `nil` for one that was not.
    ///
    /// See ``AccountStore/moveSession(to:named:from:)``.
    public var move: SessionMove? { transfer.flatMap { SessionMove(leaving: $0) } }

    /// What is remembered of a move from here, or to here.
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

    /// Whether both say the same.
    public static func == (left: Account, right: Account) -> Bool {
        left.isIdentical(to: right) || left.fields == right.fields
    }

    /// Whether both are copies of one value: found out at once, however much is known of the user.
    func isIdentical(to other: Account) -> Bool { storage === other.storage }

    /// What to call the user: the first that is known of user name, full name, e-mail address, casual name and id.
    public var displayName: String {
        for name in [username, profile.name, profile.email, profile.nickname] {
            if let name, name.contains(where: { !$0.isWhitespace }) { return name }
        }
        return id
    }

    /// Whether both are the same user of the same service.
    public func isSameUser(as other: Account) -> Bool {
        id == other.id && issuer == other.issuer
    }

    /// Whether a token of the one is the other's too, so that taking it back would end both.
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
