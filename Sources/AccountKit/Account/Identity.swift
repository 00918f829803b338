/// A user at a service, without tokens.
public struct Identity: Sendable, Hashable {
    /// The id of the user at the service; see ``Account/id``.
    public var id: String

    /// The user name.
    public var username: String?

    /// The profile fields. A profile field that the response of an authority leaves out keeps its value.
    public var profile: UserProfile

    /// Creates an identity.
    public init(id: String, username: String? = nil, profile: UserProfile = UserProfile()) {
        self.id = id
        self.username = username
        self.profile = profile
    }

    /// Creates an identity for a service with numeric user ids.
    public init(id: some BinaryInteger, username: String? = nil, profile: UserProfile = UserProfile()) {
        self.init(id: String(id), username: username, profile: profile)
    }

    /// Copies the user of an account, without the tokens.
    package init(_ account: Account) {
        self.init(id: account.id, username: account.username, profile: account.profile)
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
