/// A change of the shared account, or of what is known of it.
public enum AccountEvent: Sendable, Equatable {
    /// The archive was read, and this account is in it.
    case loaded(Account)

    /// A user signed in, here or in another process.
    case signedIn(Account)

    /// The tokens were replaced by new ones of the same session.
    case refreshed(Account)

    /// The profile changed, or the service confirmed the account.
    case updated(Account)

    /// The session ended, and why.
    case signedOut(SignOut)

    /// A change was saved, but the storage did not confirm that it survives a power cut, and why.
    case durabilityUnknown(String)

    /// What a change from one account to another is called.
    init?(from old: Account?, to new: Account, isSignIn: Bool) {
        guard let old else {
            self = isSignIn ? .signedIn(new) : .loaded(new)
            return
        }
        if old == new { return nil }
        if isSignIn || !old.isSameUser(as: new) {
            self = .signedIn(new)
        } else if !old.credentials.hasSameTokens(as: new.credentials) {
            self = .refreshed(new)
        } else {
            self = .updated(new)
        }
    }
}
