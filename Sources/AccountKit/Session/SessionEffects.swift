#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The side effects of a session flow. The flow decides their order, and ``LiveSessionEffects`` performs them. Only one
/// flow may use an instance, from a single task.
protocol SessionEffects {
    func load() async -> ArchiveReader.Content

    /// Runs `body` under the lock. If this function throws, `body` did not run. If `isBrief` is `true`, it waits for
    /// the lock for one second at most.
    func withTransaction<Value>(
        isBrief: Bool, _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value

    /// Acquires a new refresh lease if the current lease may be lost.
    func renewLease() async throws(AccountError)

    /// Finds the token endpoint and connects to it, without sending a token. If the refresh of another process has
    /// failed in the meantime, returns the reason for a pause.
    func prepareExchange(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> UnverifiedReason?

    func requestTokens(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> Credentials

    func verify(_ account: Account) async throws(AuthorityError) -> Identity

    func refresh(_ account: Account) async -> RefreshOutcome

    func revoke(_ account: Account, _ pending: RevocationQueue.Pending?) async

    /// Keeps in memory new tokens that could not be saved. `spent` is the stored account, and `revision` is its
    /// revision.
    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) async
}

extension SessionEffects {
    func withTransaction<Value>(
        _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value {
        try await withTransaction(isBrief: false, body)
    }
}

protocol SessionTransaction {
    func load() async -> ArchiveReader.Content

    /// Reserves space to save the account after the exchange.
    func prepareSave() async throws(AccountError)

    /// Begins the exchange. If `isSpending` is `true`, records that the refresh token is about to be spent. After this
    /// call, the flow is not cancelled.
    func beginExchange(isSpending: Bool) async throws(AccountError) -> ExchangeStart

    /// Records that the refresh failed, so that all processes pause before the next request. `mayBeSpent` is `true` if
    /// the service may have received the refresh token.
    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError)

    func forgetRefreshRecord() async throws(AccountError)

    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account

    /// Queues the tokens of an account for revocation. If `isSignOut` is `true`, this function also releases the tokens
    /// of the user's replaced sign-ins.
    func queueRevocation(_ account: Account, isSignOut: Bool) async throws(AccountError) -> RevocationQueue.Pending

    func withdrawRevocation(_ account: Account) async throws(AccountError)

    /// Records the sign-out, moves aside an archive that cannot be opened, and returns the new name of the archive.
    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String

    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError)
}

enum ExchangeStart: Sendable {
    /// The request may be sent. `unfinished` is the date of an earlier refresh that left its record.
    case begun(unfinished: Date?)

    /// The refresh of another process has failed in the meantime, so the flow sends nothing now.
    case paused(UnverifiedReason)
}

struct Derivation: Sendable, Equatable {
    let target: TokenTarget
    let means: TokenDerivation

    /// The time for which the token must be valid; `nil` for ``Credentials/usualValidity``.
    let validity: Duration?

    /// The token that an API refused; `nil` if none was refused.
    var refused: Secret?

    var request: TokenRequest { .derivation(target, means) }
}

enum RefreshOutcome: Sendable {
    case renewed(Account)

    /// Another process has replaced the tokens with these.
    case adopted(Account)

    case kept(Account, UnverifiedReason)

    case unsaved(Account, AccountError)
    case signedOut(SignOut)
    case unreadable(AccountError)

    /// The outcome without personal data.
    var logText: String {
        switch self {
        case .renewed: "new tokens are stored"
        case .adopted: "another process has stored new tokens"
        case .kept(_, let reason): "the account is kept (\(reason))"
        case .unsaved: "new tokens are not stored"
        case .signedOut(let signOut): "signed out (\(signOut.reason.rawValue))"
        case .unreadable(let error): "the archive is unreadable (\(error.code))"
        }
    }
}
