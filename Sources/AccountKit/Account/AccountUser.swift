#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Who is signed in: an account without its tokens.
public struct AccountUser: Sendable, Hashable, Identifiable {
    /// The user at the service; see ``Account/id``.
    public let id: String

    /// The service; see ``Account/issuer``.
    public let issuer: String?

    /// The name that the user signs in with or is known by.
    public let username: String?

    /// Everything else that is known of the user.
    public let profile: UserProfile

    /// When the service last accepted the access token, or issued it; `nil` if it never did.
    public let verifiedAt: Date?

    /// The user of an account.
    public init(_ account: Account) {
        id = account.id
        issuer = account.issuer
        username = account.username
        profile = account.profile
        verifiedAt = account.verifiedAt
    }
}
