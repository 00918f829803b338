#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The side effects of a session flow, which decides their order; ``LiveSessionEffects`` performs them. One flow uses
/// an instance, from a single task.
protocol SessionEffects {
    func load() async -> AccountArchive.Content

    /// Runs `body` under the lock. If this throws, `body` did not run. If `isBrief`, waits for the lock for one second
    /// at most.
    func withTransaction<Value>(
        isBrief: Bool, _ body: (any SessionTransaction) async -> Value
    ) async throws(AccountError) -> Value

    /// Acquires a new refresh lease if the current one may be lost.
    func renewLease() async throws(AccountError)

    /// Finds the token endpoint and connects to it. No token is sent. Returns the reason for a pause if the refresh of
    /// another process has failed since.
    func prepareExchange(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> UnverifiedReason?

    func requestTokens(
        of account: Account, deriving derivation: Derivation?
    ) async throws(AuthorityError) -> Credentials

    func verify(_ account: Account) async throws(AuthorityError) -> Identity

    func refresh(_ account: Account) async -> RefreshOutcome

    func revoke(_ account: Account, _ pending: RevocationQueue.Pending?) async

    /// Keeps new tokens in memory that could not be saved. `revision` is that of the stored account, `spent`.
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
    func load() async -> AccountArchive.Content

    /// Reserves space, so that the account can be saved after the exchange.
    func prepareSave() async throws(AccountError)

    /// Records that the refresh token is about to be spent, if `isSpending`. From now on the flow is not cancelled.
    func beginExchange(isSpending: Bool) async throws(AccountError) -> ExchangeStart

    /// Records that the refresh failed, so that all processes pause before the next request. `mayBeSpent` says whether
    /// the service may have received the refresh token.
    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError)

    func forgetRefreshRecord() async throws(AccountError)

    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account

    /// If `isSignOut`, this also releases the tokens of the user's replaced sign-ins.
    func queueRevocation(_ account: Account, isSignOut: Bool) async throws(AccountError) -> RevocationQueue.Pending

    func withdrawRevocation(_ account: Account) async throws(AccountError)

    /// Moves aside an archive that does not open, records the sign-out, and returns the new name of the archive.
    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String

    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError)
}

enum ExchangeStart: Sendable {
    /// The request may be sent. `unfinished` is the date of an earlier refresh that left its record.
    case begun(unfinished: Date?)

    /// The refresh of another process has failed since, so nothing is sent now.
    case paused(UnverifiedReason)
}

struct Derivation: Sendable, Equatable {
    let target: TokenTarget
    let means: TokenDerivation

    /// How long the token should be valid; `nil` is the usual time.
    let validity: Duration?

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
