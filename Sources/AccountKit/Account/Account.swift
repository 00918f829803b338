#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A signed-in user: the identity at the service, the tokens and the profile.
///
/// An account is a value: changing a copy does not change the archive. To change the stored account, use
/// ``AccountStore/update(_:)``. Descriptions and dumps of an account contain no tokens. `Account` is not `Codable`, so
/// that an app does not write a token to a file by accident.
public struct Account: Sendable, Equatable, Identifiable {
    private struct Fields: Sendable, Equatable {
        // Fields that change often come first and the tokens last, so that comparisons are fast.
        var verifiedAt: Date?
        let id: String
        var issuer: String?
        var username: String?
        var profile: UserProfile
        var credentials: Credentials
    }

    private final class Storage: @unchecked Sendable {
        // @unchecked Sendable: an `Account` writes to its storage only while it holds the only reference.
        var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    /// A reference, so that the cost of a copy does not depend on the size of the profile.
    private var storage: Storage

    private var fields: Fields {
        get { storage.fields }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
            yield &storage.fields
        }
    }

    /// The id of the user at the service: the `sub` claim of OpenID Connect, or the service's own id. The id of a user
    /// never changes.
    public var id: String { fields.id }

    /// The issuer identifier of the service (RFC 8414, section 2); `nil` in an app that uses only one service.
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

    /// The date when the service last issued or accepted the access token; `nil` if the service has done neither.
    public var verifiedAt: Date? {
        get { fields.verifiedAt }
        _modify { yield &fields.verifiedAt }
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

    /// Creates an account for a service with numeric user ids.
    public init(
        id: some BinaryInteger, issuer: String? = nil, username: String? = nil, credentials: Credentials,
        profile: UserProfile = UserProfile(), verifiedAt: Date? = nil
    ) {
        self.init(
            id: String(id), issuer: issuer, username: username, credentials: credentials, profile: profile,
            verifiedAt: verifiedAt)
    }

    // The comparisons of accounts:
    //
    // | function | compares |
    // | --- | --- |
    // | `==` | all fields |
    // | `isIdentical(to:)` | the storage in memory, in constant time |
    // | `isSameUser(as:)` | the id and the issuer |
    // | `sharesTokens(with:)` | the user, and whether the access token or the refresh token is equal |
    // | `isSameGrant(as:)` | the user, and whether both tokens are equal |
    // | `isEnded(byRevoking:…)` | the issuer; the id or user name, if known; and a token, or the client if the service |
    // | | cannot revoke a single grant |

    /// Returns whether all fields are equal.
    public static func == (left: Account, right: Account) -> Bool {
        left.isIdentical(to: right) || left.fields == right.fields
    }

    /// Returns whether both values share their storage. If they do not, their fields may still be equal.
    func isIdentical(to other: Account) -> Bool { storage === other.storage }

    /// The name to display for the user: the first of user name, full name, e-mail address, nickname and id that is
    /// available. If the service names no user, this is the host of the API that the user signed in to, such as
    /// `api.example.com`, or else the host of the service.
    public var displayName: String { username(orClaim: profile) ?? (isUnidentified ? apiHost ?? "an API" : id) }

    /// Whether the service names no user, so that the ``displayName`` is the host of the API.
    package var isNamedAfterAPI: Bool { isUnidentified && username(orClaim: profile) == nil }

    private func username(orClaim profile: UserProfile) -> String? {
        [username, profile.name, profile.email, profile.nickname].lazy.compactMap(\.self)
            .first { $0.contains { !$0.isWhitespace } }
    }

    /// The host, with its port if there is one, of the first resource that has one, or else of the issuer.
    private var apiHost: String? {
        (credentials.resources + [issuer].compactMap(\.self)).lazy.compactMap { text in
            guard let start = text.firstRange(of: "://")?.upperBound else { return nil }
            let host = text[start...].prefix { !"/?#".contains($0) }
            return host.isEmpty || host.contains("@") ? nil : String(host)
        }.first
    }

    /// The prefix of a random ID for a user whom the service does not identify.
    package static let localIDPrefix = "local:"

    /// Whether the ID says nothing about the user: it is empty or random.
    package var isUnidentified: Bool { id.isEmpty || id.hasPrefix(Self.localIDPrefix) }

    /// Returns whether both accounts belong to the same user of the same service.
    package func isSameUser(as other: Account) -> Bool {
        id == other.id && issuer == other.issuer
    }

    /// Returns whether the accounts have a token in common. If they do, revoking one account also ends the other.
    package func sharesTokens(with other: Account) -> Bool {
        guard isSameUser(as: other) else { return false }
        if let token = credentials.refreshToken, token == other.credentials.refreshToken { return true }
        return credentials.accessToken == other.credentials.accessToken
    }

    /// Returns whether both accounts belong to the same user and contain the same access token and refresh token. A
    /// refresh replaces at least one of these tokens, and a change of the profile none.
    package func isSameGrant(as other: Account) -> Bool {
        isSameUser(as: other) && credentials.hasSameTokens(as: other.credentials)
    }
}

extension Account: CustomReflectable {
    /// A mirror of the account's properties.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "issuer": issuer as Any, "username": username as Any, "credentials": credentials,
                "profile": profile, "verifiedAt": verifiedAt as Any,
            ], displayStyle: .struct)
    }
}

extension Account {
    /// Returns whether a service that revokes the tokens of `other` also ends the session of this account. If
    /// the service has not identified one of the users, assume that both are the same user.
    func isEnded(byRevoking other: Account, supportsPerGrantRevocation: Bool) -> Bool {
        // Without user info, a user name may be the ID.
        let isSameUser = id == other.id || id == other.username || username == other.id
        guard issuer == other.issuer, isUnidentified || other.isUnidentified || isSameUser else { return false }
        if let token = credentials.refreshToken, token == other.credentials.refreshToken { return true }
        if credentials.accessToken == other.credentials.accessToken { return true }
        return credentials.clientID == other.credentials.clientID && !supportsPerGrantRevocation
    }

    func usesSameClient(as other: Account) -> Bool {
        issuer == other.issuer && credentials.clientID == other.credentials.clientID
    }
}

extension Account {
    /// How many bytes to free before the next attempt to save the account.
    private static let leastFreed = 32 * 1024

    /// Removes data that AccountKit can obtain again: first the token endpoint, then derived tokens, beginning with the
    /// oldest, and then the largest fields of the profile. Returns `false` if only the tokens of the session are left,
    /// which are never removed.
    mutating func makeRoom() -> Bool {
        if credentials.tokenEndpoint != nil {
            credentials.tokenEndpoint = nil
            return true
        }
        var freed = 0
        guard credentials.derivedTokens.isEmpty else {
            while freed < Self.leastFreed, !credentials.derivedTokens.isEmpty {
                freed += credentials.derivedTokens.removeFirst().credentials.accessToken.byteCount
            }
            return true
        }
        let fields = profile.fields.map { (name: $0, byteCount: $0.utf8.count + $1.byteCount) }
            .sorted { ($0.byteCount, $0.name) > ($1.byteCount, $1.name) }
        for field in fields where freed < Self.leastFreed {
            profile[field.name] = nil
            freed += field.byteCount
        }
        return !fields.isEmpty
    }
}

extension ProfileValue {
    /// The approximate size in an archive, in bytes.
    fileprivate var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let data): data.count
        case .integer, .real, .boolean, .date, .null: 9
        case .array(let values): values.reduce(0) { $0 + $1.byteCount + 2 }
        case .dictionary(let fields): fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount + 4 }
        }
    }
}
