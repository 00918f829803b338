/// A change of the shared account or of its state.
///
/// An event names the user and has no tokens, so it keeps none in memory after a sign-out. The tokens are in
/// ``AccountStore/account``.
public enum AccountEvent: Sendable, Hashable {
    /// The archive was read, and this user is signed in.
    case loaded(AccountUser)

    /// A user signed in, here or in another process.
    case signedIn(AccountUser)

    /// The tokens were replaced by new ones of the same session.
    case refreshed(AccountUser)

    /// The profile changed, or the service confirmed the account.
    case updated(AccountUser)

    /// The session ended, for this reason.
    case signedOut(SignOut)

    /// A change was saved, but it may not survive a power cut, for this reason.
    case durabilityUnknown(String)

    /// The number of events dropped before the next one, because the listener was slow. Read ``AccountStore/account``
    /// for the current state.
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
