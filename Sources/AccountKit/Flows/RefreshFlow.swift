import AccountSupport

/// Refreshes the tokens of an account. The caller holds the refresh lease. The flow sends a refresh token only if it
/// can store the response, and does not send a token while another request with this token is in progress.
///
/// 1. `connect`, without the lock: check whether another process has already refreshed the tokens, and connect to the
///    token endpoint.
/// 2. `begin`, under the lock: read the account again, withdraw its tokens from the revocation queue, check that the
///    result can be saved, and record the intent. After this step, the flow is not cancelled.
/// 3. `request`, without the lock: send the request if the lease lasts for the whole exchange.
/// 4. `store`, under the lock: if the spent tokens are still stored, save the new tokens and remove the record of the
///    intent. Otherwise leave the account unchanged, and revoke the new tokens.
/// 5. If the service refused the request, under the lock: `clear` the account after a definite rejection; otherwise
///    `keep` the account and record the failure. Do this only if the tokens that were sent are still stored.
///
/// The flow stores a response before it judges the response, because the sent refresh token may be spent. If the access token
/// has the wrong type, such as a token that is not bound to the key of the session, or belongs to another user, AccountKit keeps
/// the new refresh token and withholds the access token. If only the new refresh token can be read, AccountKit stores it with the
/// access token before. In each case the outcome is `kept`, and the next refresh requests another token.
///
/// If the lock or the lease was lost, a change fails with a conflict. The flow then acquires the lock and the lease
/// again, and repeats step 4.
///
/// The ``RefreshGrant`` says what is requested. If the service refuses a token for another API, a plain refresh follows.
struct RefreshFlow {
    private static let connectionLimit = 3

    /// The number of times that the lock or the lease may be lost before the new tokens stay in memory.
    private static let conflictLimit = 3

    private let vault: any FlowVault
    private let service: any FlowService
    private let now: Date
    private let supportsPerGrantRevocation: Bool

    /// The number of refreshes of these tokens that had failed before this one waited for the lease.
    private let failureCount: Int

    /// The account whose tokens are sent.
    private var account: Account
    private var grant: RefreshGrant

    private var connected: Account?
    private var connectionCount = 0

    /// The derived token that the service refused. A plain refresh follows.
    private var refusal: (target: TokenTarget, reason: UnverifiedReason)?

    /// Why no program gets the access token in the response.
    private var flaw: UnverifiedReason?

    private var hasIntent = false

    /// The date when an earlier refresh of these tokens began, whose response was never stored.
    private var unfinishedRefresh: Date?

    private var conflictCount = 0

    /// Creates a refresh of the tokens of `account`; without `grant`, a plain one. If other tokens are stored, these tokens
    /// are the result. For another API, the result is a stored token if `account` does not have that token, or if the token
    /// is still valid.
    init(
        _ vault: any FlowVault, _ service: any FlowService, of account: Account, by grant: RefreshGrant? = nil,
        now: Date, supportsPerGrantRevocation: Bool = false, after failureCount: Int = 0
    ) {
        self.vault = vault
        self.service = service
        self.account = account
        self.grant = grant ?? .renewing(account)
        self.now = now
        self.supportsPerGrantRevocation = supportsPerGrantRevocation
        self.failureCount = failureCount
    }

    func run() async -> RefreshOutcome {
        var flow = self
        return await flow.refresh()
    }

    private mutating func refresh() async -> RefreshOutcome {
        let reached = await outcomeOfRefresh()
        let outcome = withholding(reached)
        // If the service refused a token for another API, the result is the reason for the refusal, unless the session
        // has ended.
        guard let refusal else { return outcome }
        switch outcome {
        case .adopted(let account) where account.credentials.derivedToken(for: refusal.target) != nil:
            return outcome
        case .renewed(let found), .adopted(let found), .unsaved(let found, _):
            // If another user has signed in, the caller reports a conflict.
            return found.isSameUser(as: account) ? .kept(found, refusal.reason) : outcome
        case .kept, .signedOut, .unreadable: return outcome
        }
    }

    /// Returns `kept` instead of an outcome according to which a program may use the access token in the response.
    private func withholding(_ outcome: RefreshOutcome) -> RefreshOutcome {
        guard let flaw else { return outcome }
        switch outcome {
        case .renewed(let found): return .kept(found, flaw)
        // A token of the wrong type is useless in itself. In the other cases, the tokens are only missing or not confirmed.
        case .unsaved(let found, _) where grant.derivation != nil || !found.credentials.hasWrongType:
            return .kept(found, flaw)
        case .unsaved, .adopted, .kept, .signedOut, .unreadable: return outcome
        }
    }

    private mutating func outcomeOfRefresh() async -> RefreshOutcome {
        // If no account can be read without the lock, step 2 reads the account under the lock.
        if case .present(let stored, _) = await vault.read() {
            guard needsRequest(stored) else { return .adopted(stored) }
            if let obstacle = grant.obstacle(in: stored.credentials) { return .kept(stored, obstacle) }
            if let outcome = await connect(stored) { return outcome }
        }
        while true {
            switch await begin() {
            case .ended(let outcome): return outcome
            case .unconnected(let stored):
                if let outcome = await connect(stored) { return outcome }
            case .begun(let stored, let revision):
                do throws(AuthorityError) {
                    let response = try await service.requestTokens(grant, of: stored)
                    flaw = UnverifiedReason(flawOf: response, in: stored.credentials)
                    return await store(response, ifRevision: revision)
                } catch {
                    switch grant.meaning(of: error) {
                    case .ended(let detail): return await clear(stored, detail)
                    case .kept(let reason): return await keep(stored, reason, error)
                    case .refreshFirst(let derivation, let reason):
                        refusal = (derivation.target, reason)
                        grant = .renewing(stored)
                        if let outcome = await connect(stored) { return outcome }
                    }
                }
            }
        }
    }

    // MARK: 1. Without the lock

    /// - Returns: The outcome if no request can be sent; otherwise `nil`.
    private mutating func connect(_ stored: Account) async -> RefreshOutcome? {
        use(stored)
        connected = stored
        connectionCount += 1
        do throws(AuthorityError) {
            let pause = try await service.prepareExchange(grant, of: stored, after: failureCount)
            return pause.map { .kept(stored, $0) }
        } catch {
            // Nothing was sent, so no failure is a rejection of the tokens.
            let reason = SessionDecision.reason(for: error)
            if reason.code == .cancelled || grant.isAboutDerivation(reason) { return .kept(stored, reason) }
            return await keep(stored, reason, error)
        }
    }

    // MARK: 2. The intent

    private enum Beginning {
        case begun(Account, ArchiveRevision)

        /// The tokens of the prepared request differ from the tokens of this account, which is now stored.
        case unconnected(Account)
        case ended(RefreshOutcome)
    }

    private mutating func begin() async -> Beginning {
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in await begin(in: draft) }
        } catch {
            return .ended(.kept(account, .cannotSave(error)))
        }
    }

    private mutating func begin(in draft: any FlowDraft) async -> Beginning {
        let content = await draft.read()
        guard case .present(let stored, let revision) = content else { return .ended(outcome(of: content)) }
        guard needsRequest(stored) else { return .ended(.adopted(stored)) }
        use(stored)
        if let obstacle = grant.obstacle(in: stored.credentials) { return .ended(.kept(stored, obstacle)) }
        guard connected?.isSameGrant(as: stored) == true else {
            guard connectionCount < Self.connectionLimit else {
                return .ended(.kept(stored, .init(.replacedMeanwhile)))
            }
            return .unconnected(stored)
        }
        do throws(AccountError) {
            // A process that was killed during a sign-out may have left these tokens in the queue. After the tokens are
            // replaced, no process could tell that the queued tokens belong to a session that continues.
            try await draft.withdrawRevocation(stored)
            try await draft.prepareSave()
            let start = try await draft.beginExchange(
                isSpending: grant.spendsRefreshToken, after: failureCount, committing: service.commitExchange)
            switch start {
            case .paused(let reason): return .ended(.kept(stored, reason))
            case .begun(let unfinished):
                // After a refused token for another API, the record comes from this flow.
                if !hasIntent { unfinishedRefresh = unfinished }
                hasIntent = true
                return .begun(stored, revision)
            }
        } catch {
            return .ended(.kept(stored, .cannotSave(error)))
        }
    }

    // MARK: 4. New tokens

    private enum Storing {
        case ended(RefreshOutcome)

        case conflict(Account, ArchiveRevision, orphanedBy: RefreshOutcome?)

        case orphaned(Account, RevocationQueue.Record?, RefreshOutcome)
    }

    private mutating func store(_ response: Credentials, ifRevision revision: ArchiveRevision) async -> RefreshOutcome {
        while true {
            let storing: Storing
            do throws(AccountError) {
                storing = try await vault.change(.usual) { draft in
                    await store(response, ifRevision: revision, in: draft)
                }
            } catch {
                let renewed = renewed(account, response)
                return keepUnsaved(renewed, revision, .unsaved(renewed, error))
            }
            switch storing {
            case .ended(let outcome): return outcome
            case .orphaned(let orphan, let pending, let outcome):
                await service.revoke(orphan, pending)
                return outcome
            case .conflict(let renewed, let revision, let outcome):
                do throws(AccountError) {
                    try await vault.renewLease()
                } catch {
                    guard let outcome else { return keepUnsaved(renewed, revision, .unsaved(renewed, error)) }
                    // Without an entry in the queue, there is only one attempt.
                    await service.revoke(renewed, nil)
                    return outcome
                }
            }
        }
    }

    private mutating func store(
        _ response: Credentials, ifRevision sentRevision: ArchiveRevision, in draft: any FlowDraft
    ) async -> Storing {
        let content = await draft.read()
        switch content {
        case .present(let stored, let revision) where isStillStored(stored):
            // A failure is harmless: before AccountKit delivers queued revocations, it compares each one with the
            // stored account.
            try? await draft.withdrawRevocation(stored)
            return await save(renewed(stored, response), ifRevision: revision, in: draft)
        case .unreadable(let error):
            return .ended(keepUnsaved(renewed(account, response), sentRevision, .unreadable(error)))
        default:
            return await revoke(renewed(account, response), sentRevision, inPlaceOf: content, in: draft)
        }
    }

    /// Saves new tokens. The refresh token is spent, so a failed write is repeated once.
    private mutating func save(
        _ renewed: Account, ifRevision revision: ArchiveRevision, in draft: any FlowDraft
    ) async -> Storing {
        var renewed = renewed
        var isRetry = false
        while true {
            do throws(AccountError) {
                let saved = try await draft.save(renewed, ifRevision: revision)
                if let flaw {
                    // A service that does this each time must not receive a request for each use of the session.
                    try? await draft.recordFailure(flaw, mayBeSpent: grant.isTokenExchange && unfinishedRefresh != nil)
                } else if !grant.isTokenExchange {
                    // After a token exchange, the record of an interrupted refresh still applies to the refresh token.
                    try? await draft.forgetRefreshRecord()
                }
                return .ended(.renewed(saved))
            } catch {
                switch error.code {
                case .conflict:
                    if mayRetryConflict() { return .conflict(renewed, revision, orphanedBy: nil) }
                case .tooLarge where !isRetry:
                    if renewed.isSameGrant(as: account) { return .ended(.unsaved(renewed, error)) }
                    // Remove data that can be obtained again, and retry.
                    if renewed.makeRoom() { continue }
                default:
                    if !isRetry {
                        isRetry = true
                        continue
                    }
                }
                return .ended(keepUnsaved(renewed, revision, .unsaved(renewed, error)))
            }
        }
    }

    /// Queues new tokens for revocation: the user has signed out or signed in again, or another user has signed in.
    private mutating func revoke(
        _ renewed: Account, _ revision: ArchiveRevision, inPlaceOf content: Vault.Content, in draft: any FlowDraft
    ) async -> Storing {
        let outcome = outcome(of: content)
        if case .present(let stored, _) = content, !mayRevoke(renewed, beside: stored) { return .ended(outcome) }
        do throws(AccountError) {
            let pending = try await draft.queueRevocation(renewed, isSignOut: false)
            return .orphaned(renewed, pending, outcome)
        } catch {
            guard error.code == .conflict, mayRetryConflict() else { return .orphaned(renewed, nil, outcome) }
            return .conflict(renewed, revision, orphanedBy: outcome)
        }
    }

    private mutating func mayRetryConflict() -> Bool {
        conflictCount += 1
        return conflictCount < Self.conflictLimit
    }

    /// Returns whether the stored session certainly continues if the service revokes these new tokens.
    private func mayRevoke(_ renewed: Account, beside stored: Account) -> Bool {
        // A token exchange replaces no tokens, so the sent token may belong to the stored session. After a conflict
        // another machine may have refreshed the session: some services accept a spent token for a while.
        if stored.isSameUser(as: renewed), grant.isTokenExchange || conflictCount > 0 { return false }
        return !stored.isEnded(byRevoking: renewed, supportsPerGrantRevocation: supportsPerGrantRevocation)
    }

    private func keepUnsaved(
        _ renewed: Account, _ revision: ArchiveRevision, _ outcome: RefreshOutcome
    ) -> RefreshOutcome {
        // If the grant is the same, no token was spent: the stored tokens are still valid, and AccountKit can obtain
        // the derived token again.
        if !renewed.isSameGrant(as: account) {
            vault.keepUnsaved(renewed, inPlaceOf: account, ifRevision: revision)
        }
        return outcome
    }

    private func renewed(_ stored: Account, _ response: Credentials) -> Account {
        grant.account(stored, with: response, flaw, at: now)
    }

    // MARK: 5. Refusals

    private func clear(_ stored: Account, _ detail: String) async -> RefreshOutcome {
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in
                let content = await draft.read()
                guard case .present(let stored, let revision) = content, isStillStored(stored) else {
                    return outcome(of: content)
                }
                let signOut = SignOut(
                    .sessionEnded, date: now, issuer: stored.issuer, detail: detail,
                    unfinishedRefresh: unfinishedRefresh)
                do throws(AccountError) {
                    try await draft.clear(signOut, ifRevision: revision)
                    return .signedOut(signOut)
                } catch {
                    guard error.code == .conflict else { return .kept(stored, .cannotClear(error)) }
                    let content = await draft.read()
                    guard case .present(let stored, _) = content, isStillStored(stored) else {
                        return outcome(of: content)
                    }
                    return .kept(stored, .init(.replacedMeanwhile))
                }
            }
        } catch {
            return .kept(stored, .cannotClear(error))
        }
    }

    private func keep(
        _ stored: Account, _ reason: UnverifiedReason, _ failure: AuthorityError
    ) async -> RefreshOutcome {
        if grant.isPrivate(reason, of: account) { return .kept(stored, reason) }
        do throws(AccountError) {
            return try await vault.change(.usual) { draft in
                let content = await draft.read()
                guard case .present(let stored, _) = content, isStillStored(stored) else {
                    return outcome(of: content)
                }
                await record(reason, failure, in: draft)
                return .kept(stored, reason)
            }
        } catch {
            // The record of the intent stays, so the token counts as possibly spent until new tokens are saved.
            return .kept(stored, reason)
        }
    }

    private func record(_ reason: UnverifiedReason, _ failure: AuthorityError, in draft: any FlowDraft) async {
        // A refused request for another API's token does not delay refreshes.
        if grant.isAboutDerivation(reason) {
            if unfinishedRefresh == nil { try? await draft.forgetRefreshRecord() }
            return
        }
        // After a lost lease, no token was sent, so the next refresh may begin at once. If this write fails, the record of
        // the intent stays, and the token counts as possibly spent.
        if failure == .leaseLost, unfinishedRefresh == nil {
            try? await draft.forgetRefreshRecord()
            return
        }
        // Record whether this or an earlier request may have spent the token. A flow without an intent has not read the
        // record.
        let mayBeSpent =
            !hasIntent || unfinishedRefresh != nil
            || grant.spendsRefreshToken && !failure.wasCertainlyNotCarriedOut
        try? await draft.recordFailure(reason, mayBeSpent: mayBeSpent)
    }

    // MARK: Helpers

    private mutating func use(_ stored: Account) {
        account = stored
        grant = grant.applied(to: stored)
    }

    private func needsRequest(_ stored: Account) -> Bool {
        grant.isNeeded(for: stored, inPlaceOf: account, at: now)
    }

    private func isStillStored(_ stored: Account) -> Bool { stored.isSameGrant(as: account) }

    private func outcome(of content: Vault.Content) -> RefreshOutcome {
        switch content {
        // The lease was lost, and another machine has replaced only the refresh token or obtained a token for another
        // API.
        case .present(let stored, _) where needsRequest(stored): .kept(stored, .init(.replacedMeanwhile))
        case .present(let stored, _): .adopted(stored)
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        }
    }
}

extension UnverifiedReason {
    fileprivate static func cannotSave(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(.init(savingFailure: error), detail: error.description)
    }
}
