import AccountSupport

/// The part of a vault that a flow uses. In tests, a script answers the calls.
protocol FlowVault: AnyObject {
    func read() async -> Vault.Content

    /// Runs `body` under the lock. If this function throws, `body` did not run.
    func change<Value>(
        _ patience: Patience, _ body: (any FlowDraft) async -> Value
    ) async throws(AccountError) -> Value

    /// Acquires a new refresh lease if the current lease may be lost.
    func renewLease() async throws(AccountError)

    /// Keeps in memory new tokens that could not be saved. `spent` is the stored account, and `revision` is its
    /// revision.
    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision)
}

/// How long to wait for the lock.
enum Patience: Sendable {
    /// The time that the app chose.
    case usual

    /// One second at most, because the work can also be done later.
    case brief
}

/// The part of a ``VaultDraft`` that a flow uses.
protocol FlowDraft {
    func read() async -> Vault.Content
    func prepareSave() async throws(AccountError)
    func beginExchange(
        isSpending: Bool, after failureCount: Int, committing commit: () throws -> Void
    ) async throws(AccountError) -> ExchangeStart
    func recordFailure(_ reason: UnverifiedReason, mayBeSpent: Bool) async throws(AccountError)
    func forgetRefreshRecord() async throws(AccountError)
    func save(_ account: Account, ifRevision revision: ArchiveRevision) async throws(AccountError) -> Account
    func queueRevocation(_ account: Account, isSignOut: Bool) async throws(AccountError) -> RevocationQueue.Record
    func withdrawRevocation(_ account: Account) async throws(AccountError)
    func quarantine(_ signOut: SignOut) async throws(AccountError) -> String
    func clear(_ signOut: SignOut, ifRevision revision: ArchiveRevision) async throws(AccountError)
    func forgetEndedUser() async throws(AccountError) -> Bool
}

extension VaultDraft: FlowDraft {}

extension Vault: FlowVault {
    func change<Value>(
        _ patience: Patience, _ body: (any FlowDraft) async -> Value
    ) async throws(AccountError) -> Value {
        try await change(timeout: timeout(patience)) { await body($0) }
    }

    fileprivate func timeout(_ patience: Patience) -> Duration {
        switch patience {
        case .usual: lockTimeout
        case .brief: briefTimeout
        }
    }

    /// Does nothing, since the caller holds no lease.
    func renewLease() {}
}

extension VaultLease: FlowVault {
    func read() async -> Vault.Content { await vault.read() }

    func change<Value>(
        _ patience: Patience, _ body: (any FlowDraft) async -> Value
    ) async throws(AccountError) -> Value {
        try await vault.change(timeout: vault.timeout(patience), under: current) { await body($0) }
    }

    func renewLease() async throws(AccountError) { try await renew() }

    func keepUnsaved(_ account: Account, inPlaceOf spent: Account, ifRevision revision: ArchiveRevision) {
        vault.keepUnsaved(account, inPlaceOf: spent, ifRevision: revision)
    }
}

/// The requests of a flow to a service. Only one flow may use an instance, from a single task.
protocol FlowService: AnyObject {
    /// Finds the token endpoint and connects to it, without sending a token. If the refresh of another process has
    /// failed in the meantime, returns the reason for a pause. `failureCount` is the number of refreshes of these tokens
    /// that had failed before the flow waited for the lease.
    func prepareExchange(
        _ grant: RefreshGrant, of account: Account, after failureCount: Int
    ) async throws(AuthorityError) -> UnverifiedReason?

    /// Commits the exchange, so that it runs to its end even if its callers leave. Throws `CancellationError` if all
    /// callers have already left.
    func commitExchange() throws

    func requestTokens(_ grant: RefreshGrant, of account: Account) async throws(AuthorityError) -> Credentials

    func verify(_ account: Account) async throws(AuthorityError) -> Identity

    func refresh(_ account: Account) async -> RefreshOutcome

    func revoke(_ account: Account, _ pending: RevocationQueue.Record?) async
}

/// The outcome of a refresh.
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
