#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The user of an account, without tokens.
public struct AccountUser: Sendable, Hashable, Identifiable {
    /// The id of the user at the service; see ``Account/id``.
    public let id: String

    /// The issuer identifier of the service; see ``Account/issuer``.
    public let issuer: String?

    /// The user name.
    public let username: String?

    /// The profile fields of the user.
    public let profile: UserProfile

    /// The date when the service last issued or accepted the access token; `nil` if the service has done neither.
    public let verifiedAt: Date?

    /// Copies the user of an account, without the tokens.
    public init(_ account: Account) {
        id = account.id
        issuer = account.issuer
        username = account.username
        profile = account.profile
        verifiedAt = account.verifiedAt
    }
}

/// The user that an account, a key or a request belongs to.
struct AccountOwner: Sendable, Hashable {
    let id: String

    let issuer: String?
}

extension Account {
    var owner: AccountOwner { AccountOwner(id: id, issuer: issuer) }
}
