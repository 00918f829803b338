/// A change of the shared account or of its state.
///
/// An event contains the user but no tokens, so buffered events keep no tokens in memory after a sign-out. To obtain
/// the tokens, read ``AccountStore/account``.
public enum AccountEvent: Sendable, Hashable {
    /// The store has read the archive, and this user is signed in.
    case loaded(AccountUser)

    /// A user signed in, here or in another process.
    case signedIn(AccountUser)

    /// New tokens of the same session replaced the tokens.
    case refreshed(AccountUser)

    /// The profile changed, or the service confirmed the account.
    case updated(AccountUser)

    /// The session ended, for this reason.
    case signedOut(SignOut)

    /// A change was saved, but for this reason the change may not survive a power cut.
    case durabilityUnknown(String)

    /// The number of events that were dropped before the next event, because the listener was slow. Read
    /// ``AccountStore/account`` for the current state.
    case missed(Int)

    init?(from old: Account?, to new: Account, isSignIn: Bool) {
        let user = AccountUser(new)
        guard let old else {
            self = isSignIn ? .signedIn(user) : .loaded(user)
            return
        }
        if old == new { return nil }
        if isSignIn || !old.isSameUser(as: new) {
            self = .signedIn(user)
        } else if !old.credentials.hasSameTokens(as: new.credentials) {
            self = .refreshed(user)
        } else {
            self = .updated(user)
        }
    }
}
