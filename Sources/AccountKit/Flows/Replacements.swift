import Synchronization

package enum ReplacementDecision: Sendable {
    case replace

    case store(in: AccountStore)

    /// Keep the ID of the stored account, because the sign-in extends the permissions of a user whom the service does
    /// not identify.
    case keepID
}

/// Decides whether a sign-in replaces the account of another user. AccountKit holds no lock while it calls the handler.
/// If the handler throws an error, the stored account stays, and the new tokens are revoked.
package typealias ReplacementHandler =
    @Sendable (_ stored: Account, _ new: Account) async throws(AccountError) -> ReplacementDecision

/// Holds the handler of a store.
final class Replacements: Sendable {
    private let state = Mutex<ReplacementHandler?>(nil)

    /// The handler; `nil` if each sign-in replaces the stored account.
    var handler: ReplacementHandler? {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }
}
