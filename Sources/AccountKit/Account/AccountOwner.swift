/// The user whom an account, a key or a request belongs to.
struct AccountOwner: Sendable, Hashable {
    /// The id of the user at the service; see ``Account/id``.
    let id: String

    /// The service; see ``Account/issuer``.
    let issuer: String?
}

extension Account {
    var owner: AccountOwner { AccountOwner(id: id, issuer: issuer) }
}
