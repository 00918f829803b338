/// The user that an account, a key or a request belongs to.
struct AccountOwner: Sendable, Hashable {
    let id: String

    let issuer: String?
}

extension Account {
    var owner: AccountOwner { AccountOwner(id: id, issuer: issuer) }
}
