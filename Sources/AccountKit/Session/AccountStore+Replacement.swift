import Synchronization

/// What to do with a sign-in when another user is signed in to the session.
package enum ReplacementDecision: Sendable {
    /// Put the new account in place of the stored one.
    case replace

    /// Store the new account in another session, and keep this session.
    case store(in: AccountStore)
}

/// Decides about a sign-in when another user is signed in to the session.
///
/// The decision may take as long as it needs: no lock is held. If it throws, the stored account stays, and the new tokens are
/// revoked.
package typealias ReplacementHandler =
    @Sendable (_ stored: Account, _ new: Account) async throws(AccountError) -> ReplacementDecision

extension AccountStore {
    /// Calls `handler` before a sign-in replaces the account of another user. Without a handler the account is replaced.
    package func confirmReplacements(_ handler: @escaping ReplacementHandler) {
        replacementHandler.withLock { $0 = handler }
    }
}
