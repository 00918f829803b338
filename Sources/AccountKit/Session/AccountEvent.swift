/// A change of the shared account, or of what is known of it.
///
/// It says who, and has no tokens: those are in ``AccountStore/account``, for whoever needs them, and no event keeps them in
/// memory after the sign-out.
public enum AccountEvent: Sendable, Hashable {
    /// The archive was read, and this user is signed in.
    case loaded(AccountUser)

    /// A user signed in, here or in another process.
    case signedIn(AccountUser)

    /// The tokens were replaced by new ones of the same session.
    case refreshed(AccountUser)

    /// The profile changed, or the service confirmed the account.
    case updated(AccountUser)

    /// The session ended, and why.
    case signedOut(SignOut)

    /// A change was saved, but the storage did not confirm that it survives a power cut, and why.
    case durabilityUnknown(String)

    /// So many events are left out here, since they were not taken while newer ones came. Those that follow lead to what
    /// there is now: look at ``AccountStore/account`` if you count on having heard of each change.
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
