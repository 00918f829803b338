import Synchronization

package enum ReplacementDecision: Sendable {
    case replace

    case store(in: AccountStore)
}

/// No lock is held. If the handler throws, the stored account stays, and the new tokens are revoked.
package typealias ReplacementHandler =
    @Sendable (_ stored: Account, _ new: Account) async throws(AccountError) -> ReplacementDecision

extension AccountStore {
    /// Without a handler, a sign-in replaces the account of another user.
    package func confirmReplacements(_ handler: @escaping ReplacementHandler) {
        replacementHandler.withLock { $0 = handler }
    }
}
