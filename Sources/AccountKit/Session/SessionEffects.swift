#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Everything that a session flow does outside of itself: it reads and changes the archive, and asks the service.
///
/// ``CheckFlow``, ``RefreshFlow`` and ``SignOutFlow`` decide what happens in which order. ``LiveSessionEffects`` performs it on
/// files, locks and the network. A test answers each call from a script, and so tries every order of results.
///
/// One flow uses an instance, from a single task.
protocol SessionEffects {
    /// Reads the archive without the lock.
    func load() async -> AccountArchive.Content

    /// Runs `body` under the lock of the archive, and then releases the lock.
    ///
    /// - Parameter isBrief: Whether to wait for the lock for one second at most.
    /// - Throws: An error if the lock could not be acquired. `body` did not run.
    func withTransaction<Value>(
        isBrief: Bool, _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value

    /// Acquires a new refresh lease if the current one may be lost.
    func renewLease() async throws(AccountError)

    /// Looks up the token endpoint and connects to it. No token is sent.
    ///
    /// - Returns: The reason for a pause, if the refresh of another process has failed since; `nil` if the request can be sent.
    func prepareExchange(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> UnverifiedReason?

    /// Sends the prepared request for new tokens, or for a token for another API.
    func requestTokens(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> Credentials

    /// Asks the service whose token it is.
    func verify(_ account: Account) async throws(AuthorityError) -> Identity

    /// Refreshes the account, or joins a refresh of the same tokens.
    func refresh(_ account: Account) async -> RefreshOutcome

    /// Asks the service to revoke tokens.
    ///
    /// - Parameter pending: The entry of the tokens in the queue, if they could be queued.
    func revoke(_ account: Account, _ pending: RevocationQueue.Pending?) async

    /// Keeps new tokens in memory because they could not be saved.
    ///
    /// - Parameters:
    ///   - spent: The stored account, whose tokens were spent for the new ones.
    ///   - revision: The revision of the stored account.
    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) async
}

extension SessionEffects {
    func withTransaction<Value>(
        _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value {
        try await withTransaction(isBrief: false, body)
    }
}

/// The effects of a session flow under the lock of the archive.
protocol SessionTransaction {
    func load() async -> AccountArchive.Content

    /// Reserves space, so that the account can be saved after the exchange.
    func prepareSave() async throws(AccountError)

    /// Records that the refresh token is about to be spent. From now on the flow is not cancelled.
    ///
    /// - Parameter isSpending: `false` if the request spends no refresh token. Then nothing is recorded.
    func beginExchange(isSpending: Bool) async throws(AccountError) -> ExchangeStart

    /// Records that the refresh failed, so that all processes pause before the next request.
    ///
    /// - Parameter mayBeSpent: Whether the service may have received the refresh token.
    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError)

    /// Removes the record of the refresh.
    func forgetRefreshRecord() async throws(AccountError)

    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account

    /// Queues tokens for revocation.
    ///
    /// - Parameter isSignOut: Whether the user signs out. Then the tokens of the user's replaced sign-ins are released, too.
    func queueRevocation(_ account: Account, isSignOut: Bool) async throws(AccountError) -> RevocationQueue.Pending

    /// Removes the tokens of an account that stays signed in from the queue.
    func withdrawRevocation(_ account: Account) async throws(AccountError)

    /// Moves an archive that does not open aside, and records the sign-out.
    ///
    /// - Returns: The new name of the archive.
    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String

    /// Removes the account, and records the sign-out.
    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError)
}

/// The result of ``SessionTransaction/beginExchange(isSpending:)``.
enum ExchangeStart: Sendable {
    /// The request may be sent. The date is that of an earlier refresh that left its record, if there is one.
    case begun(unfinished: Date?)

    /// The refresh of another process has failed since, so nothing is sent now.
    case paused(UnverifiedReason)
}

/// A requested token for another API.
struct Derivation: Sendable, Equatable {
    let target: TokenTarget
    let means: TokenDerivation

    /// How long the token should be valid; `nil` is the usual time.
    let validity: Duration?

    var request: TokenRequest { .derivation(target, means) }
}

enum RefreshOutcome: Sendable {
    /// The service issued new tokens, and they are stored.
    case renewed(Account)

    /// Another process has replaced the tokens with these.
    case adopted(Account)

    /// There are no new tokens, for this reason.
    case kept(Account, UnverifiedReason)

    /// The tokens are new, and could not be stored.
    case unsaved(Account, AccountError)
    case signedOut(SignOut)
    case unreadable(AccountError)
}
