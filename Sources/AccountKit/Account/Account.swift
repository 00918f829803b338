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
    /// The user at the service: OpenID Connect's `sub`, or the service's own id. Never changes for a user.
    public let id: String

    /// The service, as an issuer identifier (RFC 8414, section 2); `nil` for an app that knows one service only.
    public var issuer: String?

    /// The name that the user signs in with or is known by.
    public var username: String?

    /// The tokens.
    public var credentials: Credentials

    /// Everything else that is known of the user.
    public var profile: UserProfile

    /// When the service last accepted the access token, or issued it; `nil` if it never did.
    public var verifiedAt: Date?

    /// Puts an account together.
    ///
    /// - Parameters:
    ///   - id: The user at the service.
    ///   - issuer: The service.
    ///   - username: The user's name.
    ///   - credentials: The tokens.
    ///   - profile: Everything else.
    ///   - verifiedAt: When the service last accepted the access token.
    public init(
        id: String, issuer: String? = nil, username: String? = nil, credentials: Credentials,
        profile: UserProfile = UserProfile(), verifiedAt: Date? = nil
    ) {
        self.id = id
        self.issuer = issuer
        self.username = username
        self.credentials = credentials
        self.profile = profile
        self.verifiedAt = verifiedAt
    }

    /// Puts an account together for a service that numbers its users.
    public init(
        id: some BinaryInteger, issuer: String? = nil, username: String? = nil, credentials: Credentials,
        profile: UserProfile = UserProfile(), verifiedAt: Date? = nil
    ) {
        self.init(
            id: String(id), issuer: issuer, username: username, credentials: credentials, profile: profile,
            verifiedAt: verifiedAt)
    }

    /// What to call the user: the user name, or the id where there is none.
    public var displayName: String { username ?? id }

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

    /// Whether both are the same user with the same tokens.
    package func isSameGrant(as other: Account) -> Bool {
        isSameUser(as: other) && credentials.hasSameTokens(as: other.credentials)
    }
}
