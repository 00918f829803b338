#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A refresh, for whoever holds its lease: sends a refresh token only when the response can be stored, and never twice at a
/// time.
///
/// 1. Without the lock: look whether another process was faster → find the service's endpoint and connect to it. Nothing is sent.
/// 2. Under the lock: read again → take the tokens off the queue of revocations → make sure that the result can be saved → record
///    the intent.
/// 3. Without the lock: ask the service, if the lease lasts for the whole exchange. During the request, others sign in, sign out and
///    change the profile.
/// 4. Under the lock: read again → save, if the tokens that were spent are still the stored ones → forget the intent.
///    Otherwise nothing is changed, and the new tokens are revoked. Likewise a refusal is written down only for those that
///    were sent.
///
/// Where several machines share a storage, a process that was suspended may have lost the lock or the lease, and is told so by
/// a conflict. What it has brought is not lost by that: it takes the lock again, and another lease if need be, and goes on
/// with 4.
///
/// A token for another API is had in the same steps: it may cost the same refresh token, and is stored together with the next
/// one. A refusal of such a request does not refuse the sign-in, and is not recorded. If the service refuses the
/// refresh token, the refusal may be about this request only. So a plain refresh follows, and its response decides. Where a token is
/// had in exchange for the access token, nothing is spent, and so no intent is recorded.
struct RefreshStateMachine: SessionStateMachine {
    enum State: SessionMachineState {
        case looking
        case connecting(Account)
        case opening
        case comparing
        case closingToConnect(Account)
        case withdrawing(Account, ArchiveRevision)
        case preparing(Account, ArchiveRevision)
        case recording(Account, ArchiveRevision)
        case closing(Account, ArchiveRevision)
        case requesting(Account, ArchiveRevision)

        case openingToCommit(Credentials, Account, ArchiveRevision)
        case comparingToCommit(Credentials, Account, ArchiveRevision)
        case withdrawingSpent(Account, ArchiveRevision)
        case saving(Account, ArchiveRevision, isRetry: Bool)
        case renewingLease(Account, ArchiveRevision, orphanedBy: RefreshOutcome?)
        case keepingUnsaved(RefreshOutcome)

        case openingToClear(Account, String)
        case comparingToClear(String)
        case clearing(Account, SignOut)
        case supersededClear

        case openingToRecord(Account, UnverifiedReason, AuthorityError)
        case comparingToRecord(UnverifiedReason, AuthorityError)
        case queueingOrphan(Account, RefreshOutcome)
        case closingForOrphan(Account, RevocationQueue.Pending?, RefreshOutcome)
        case revokingOrphan(RefreshOutcome)
        case updatingRecord(RefreshOutcome)
        case finished
    }

    /// Whose tokens are used: those that were given, or for another API those that are stored by then.
    private var account: Account
    private var derivation: Derivation?
    private let now: Date
    private let revokesSingleGrants: Bool
    var state = State.looking

    /// Whose tokens the request that was prepared has, and how often one was prepared.
    private var connected: Account?
    private var connectionCount = 0

    /// The token for another API that the service refused, so that a plain refresh follows.
    private var refusal: (target: TokenTarget, reason: UnverifiedReason)?

    /// Whether this refresh has recorded its intent.
    private var hasIntent = false

    /// When a refresh of these tokens was begun before, whose response was never stored.
    private var unfinishedRefresh: Date?

    /// What the service has issued, and for which revision of the archive.
    private var received: (credentials: Credentials, revision: ArchiveRevision)?

    /// How often the lock or the lease was found to be lost since.
    private var conflictCount = 0

    /// - Parameters:
    ///   - account: Whose tokens are to be replaced; if the archive holds others, those are the result.
    ///   - derivation: The token for another API that is wanted in place of new tokens. If the archive holds another one than the
    ///     account, or one that is good, that is the result.
    ///   - revokesSingleGrants: Whether revoking tokens of a user leaves the user's other sign-ins alone.
    init(
        of account: Account, deriving derivation: Derivation? = nil, now: Date, revokesSingleGrants: Bool = false
    ) {
        self.account = account
        self.derivation = derivation
        self.now = now
        self.revokesSingleGrants = revokesSingleGrants
    }

    mutating func start() -> SessionAction<RefreshOutcome> { .load }

    mutating func resume(after event: SessionEvent) -> SessionAction<RefreshOutcome> {
        switch (state, event) {
        case (.looking, .content(.present(let stored, _))):
            guard isToBeUsed(stored) else { return finish(.adopted(stored)) }
            if let obstacle = obstacle(in: stored) { return finish(.kept(stored, obstacle)) }
            return connect(stored)
        // Only under the lock is it certain.
        case (.looking, .content): return go(to: .opening, .beginTransaction)
        case (.connecting, .done): return go(to: .opening, .beginTransaction)
        case (.connecting(let stored), .postponed(let reason)): return finish(.kept(stored, reason))
        case (.connecting(let stored), .refused(let failure)):
            // Nothing was sent, so whatever the failure is, it is no refusal of the tokens.
            let reason = SessionDecision.reason(for: failure)
            if reason.code == .cancelled || derivation != nil && reason.isAboutRequest {
                return finish(.kept(stored, reason))
            }
            return go(to: .openingToRecord(stored, reason, failure), .beginTransaction)

        case (.opening, .failed(let error)): return finish(.kept(account, .cannotSave(error)))
        case (.opening, .done): return go(to: .comparing, .load)

        case (.comparing, .content(.present(let stored, let revision))):
            guard isToBeUsed(stored) else { return finish(.adopted(stored)) }
            account = stored
            if let obstacle = obstacle(in: stored) { return finish(.kept(stored, obstacle)) }
            guard connected?.isSameGrant(as: stored) == true else {
                guard connectionCount < 3 else { return finish(.kept(stored, .init(.replacedMeanwhile))) }
                return go(to: .closingToConnect(stored), .endTransaction)
            }
            // A process that died while it signed out has left these tokens to be revoked. Once they are replaced, nobody
            // could tell any more that they are of a session that goes on.
            return go(to: .withdrawing(stored, revision), .withdrawRevocation(stored))
        case (.comparing, .content(let content)): return finish(outcome(of: content))
        case (.closingToConnect(let stored), .done): return connect(stored)

        case (.withdrawing(let stored, let revision), .done):
            return go(to: .preparing(stored, revision), .prepareSave)
        case (.preparing(let stored, let revision), .done):
            return go(to: .recording(stored, revision), spendsRefreshToken ? .recordIntent : .beginExchange)
        case (.recording(let stored, let revision), .intentRecorded(let unfinished)):
            // The intent of a request that was refused is this refresh's own.
            if !hasIntent { unfinishedRefresh = unfinished }
            hasIntent = true
            return go(to: .closing(stored, revision), .endTransaction)
        case (.recording(let stored, _), .postponed(let reason)): return finish(.kept(stored, reason))
        case (.withdrawing(let stored, _), .failed(let error)), (.preparing(let stored, _), .failed(let error)),
            (.recording(let stored, _), .failed(let error)):
            return finish(.kept(stored, .cannotSave(error)))

        case (.closing(let stored, let revision), .done):
            return go(
                to: .requesting(stored, revision), derivation.map { .deriveToken(stored, $0) } ?? .requestTokens(stored)
            )
        case (.requesting(let stored, let revision), .renewed(let credentials)):
            received = (credentials, revision)
            return go(to: .openingToCommit(credentials, stored, revision), .beginTransaction)
        case (.requesting(let stored, _), .refused(let failure)):
            return decide(on: failure, stored)

        case (.openingToCommit, _), (.comparingToCommit, _), (.withdrawingSpent, _), (.saving, _), (.renewingLease, _),
            (.keepingUnsaved, _):
            return commit(event)
        case (.openingToClear, _), (.comparingToClear, _), (.clearing, _), (.supersededClear, _):
            return clear(event)
        case (.queueingOrphan, _), (.closingForOrphan, _), (.revokingOrphan, _):
            return revokeOrphan(event)

        case (.openingToRecord(_, let reason, let failure), .done):
            return go(to: .comparingToRecord(reason, failure), .load)
        case (.comparingToRecord(let reason, let failure), .content(.present(let stored, _)))
        where isStillStored(stored):
            // What is wrong with the request for another API's token keeps no refresh from being sent.
            if derivation != nil, reason.isAboutRequest {
                return unfinishedRefresh == nil
                    ? go(to: .updatingRecord(.kept(stored, reason)), .forgetRefreshRecord)
                    : finish(.kept(stored, reason))
            }
            // As long as the token may have been spent, now or before, the record says so. Before its intent a refresh has not read the
            // record, so it leaves the record alone.
            let mayBeSpent =
                !hasIntent || unfinishedRefresh != nil || spendsRefreshToken && !failure.wasCertainlyNotCarriedOut
            return go(to: .updatingRecord(.kept(stored, reason)), .recordFailure(reason, mayBeSpent: mayBeSpent))
        // The failure is not about what is stored now.
        case (.comparingToRecord, .content(let content)): return finish(outcome(of: content))
        // The intent record stays, and says that the token may be spent, even if it is not. A refresh whose tokens are saved
        // removes it.
        case (.openingToRecord(let stored, let reason, _), .failed): return finish(.kept(stored, reason))
        case (.updatingRecord(let outcome), .done), (.updatingRecord(let outcome), .failed): return finish(outcome)

        default: unexpected(event, in: state)
        }
    }

    // MARK: What the response means

    private mutating func decide(on failure: AuthorityError, _ stored: Account) -> SessionAction<RefreshOutcome> {
        let reason: UnverifiedReason
        switch derivation?.means {
        case nil:
            switch SessionDecision.afterRefresh(failure) {
            case .clear(let detail): return go(to: .openingToClear(stored, detail), .beginTransaction)
            case .keep(let kept): reason = kept
            }
        case .refresh?:
            switch SessionDecision.afterDerivation(failure) {
            case .refreshOnce(let refused):
                refusal = derivation.map { ($0.target, refused) }
                derivation = nil
                return connect(stored)
            case .keep(let kept): reason = kept
            }
        case .tokenExchange?: reason = SessionDecision.afterTokenExchange(failure)
        }
        // Nothing was recorded, and the service is not to be left alone either.
        if !spendsRefreshToken, reason.isAboutRequest { return finish(.kept(stored, reason)) }
        return go(to: .openingToRecord(stored, reason, failure), .beginTransaction)
    }

    // MARK: New tokens

    private mutating func commit(_ event: SessionEvent) -> SessionAction<RefreshOutcome> {
        switch (state, event) {
        case (.openingToCommit(let credentials, let stored, let revision), .failed(let error)):
            return keepUnsaved(renewed(stored, credentials), stored, revision, .unsaved(stored, error))
        case (.openingToCommit(let credentials, let stored, let revision), .done):
            return go(to: .comparingToCommit(credentials, stored, revision), .load)

        case (.comparingToCommit(let credentials, _, _), .content(.present(let stored, let revision)))
        where isStillStored(stored):
            // A process that died while it signed out meanwhile may have queued the spent tokens for revocation.
            return go(to: .withdrawingSpent(renewed(stored, credentials), revision), .withdrawRevocation(stored))
        case (.comparingToCommit(let credentials, let sent, let revision), .content(.unreadable(let error))):
            return keepUnsaved(renewed(sent, credentials), sent, revision, .unreadable(error))
        case (.comparingToCommit(let credentials, let sent, _), .content(let content)):
            return orphan(renewed(sent, credentials), content)

        // If that failed, save all the same: each entry is compared with the stored account before the service is told.
        case (.withdrawingSpent(let renewed, let revision), .done),
            (.withdrawingSpent(let renewed, let revision), .failed):
            return go(to: .saving(renewed, revision, isRetry: false), .save(renewed, ifRevision: revision))

        case (.saving, .saved(let account)):
            // The record of a refresh that was interrupted is still about the stored refresh token.
            guard spendsRefreshToken else { return finish(.renewed(account)) }
            return go(to: .updatingRecord(.renewed(account)), .forgetRefreshRecord)
        case (.saving(let renewed, let revision, _), .failed(let error)) where error.code == .conflict:
            return beginAgain(renewed, revision)
                ?? keepUnsaved(renewed, account, revision, .unsaved(renewed, error))
        // Data that can be fetched again makes room.
        case (.saving(var renewed, let revision, isRetry: false), .failed(let error)) where error.code == .tooLarge:
            if renewed.isSameGrant(as: account) { return finish(.unsaved(renewed, error)) }
            guard renewed.makeRoom() else {
                return keepUnsaved(renewed, account, revision, .unsaved(renewed, error))
            }
            return go(to: .saving(renewed, revision, isRetry: false), .save(renewed, ifRevision: revision))
        // The old token is spent, so it is worth a second try: with a new file, not with what was reserved.
        case (.saving(let renewed, let revision, isRetry: false), .failed):
            return go(to: .saving(renewed, revision, isRetry: true), .save(renewed, ifRevision: revision))
        case (.saving(let renewed, let revision, isRetry: true), .failed(let error)):
            return keepUnsaved(renewed, account, revision, .unsaved(renewed, error))

        case (.renewingLease, .done):
            return go(to: .openingToCommit(received!.credentials, account, received!.revision), .beginTransaction)
        case (.renewingLease(let renewed, _, orphanedBy: let outcome?), .failed):
            return go(to: .closingForOrphan(renewed, nil, outcome), .endTransaction)
        case (.renewingLease(let renewed, let revision, orphanedBy: nil), .failed(let error)):
            return keepUnsaved(renewed, account, revision, .unsaved(renewed, error))

        case (.keepingUnsaved(let outcome), .done): return finish(outcome)
        default: unexpected(event, in: state)
        }
    }

    /// Takes what was lost again.
    ///
    /// - Returns: `nil` the third time.
    private mutating func beginAgain(
        _ renewed: Account, _ revision: ArchiveRevision, orphanedBy outcome: RefreshOutcome? = nil
    ) -> SessionAction<RefreshOutcome>? {
        conflictCount += 1
        guard conflictCount < 3 else { return nil }
        return go(to: .renewingLease(renewed, revision, orphanedBy: outcome), .renewLease)
    }

    private func renewed(_ stored: Account, _ credentials: Credentials) -> Account {
        var renewed = stored
        if let derivation {
            renewed.credentials.keep(credentials, for: derivation.target, at: now)
            if spendsRefreshToken, let next = credentials.refreshToken { renewed.credentials.refreshToken = next }
            return renewed
        }
        renewed.credentials = stored.credentials.renewed(by: credentials)
        // An authority may have the date from its service. One that is ahead must not lead to the next refresh.
        if renewed.credentials.isFromFuture(at: now) { renewed.credentials.issuedAt = now }
        renewed.verifiedAt = now
        return renewed
    }

    private mutating func keepUnsaved(
        _ renewed: Account, _ spent: Account, _ revision: ArchiveRevision, _ outcome: RefreshOutcome
    ) -> SessionAction<RefreshOutcome> {
        var outcome = outcome
        if case .unsaved(_, let error) = outcome { outcome = .unsaved(renewed, error) }
        // Nothing was spent: what is stored is as good as ever, and another such token can be had.
        if renewed.isSameGrant(as: account) { return finish(outcome) }
        return go(to: .keepingUnsaved(outcome), .keepUnsaved(renewed, inPlaceOf: spent, ifRevision: revision))
    }

    // MARK: New tokens that came too late

    /// Nobody is signed in any more, or somebody else, or anew: what came is for nobody, and must not live on.
    private mutating func orphan(
        _ renewed: Account, _ content: AccountArchive.Content
    ) -> SessionAction<RefreshOutcome> {
        // They are of a session that goes on elsewhere.
        if case .present(let stored, _) = content, stored.move != nil, stored.isSameUser(as: renewed) {
            return finish(outcome(of: content))
        }
        // Where a sign-in cannot be ended without the user's others, that would end the new one.
        // Of an exchange nothing came that could replace what is stored, so what was sent may be of the same sign-in. So may
        // what another machine has got, which had the lease in between: some services accept a spent token for a while.
        if case .present(let stored, _) = content,
            stored.isEnded(byRevoking: renewed, revokesSingleGrants: revokesSingleGrants)
                || (!spendsRefreshToken || conflictCount > 0) && stored.isSameUser(as: renewed)
        {
            return finish(outcome(of: content))
        }
        return go(to: .queueingOrphan(renewed, outcome(of: content)), .queueRevocation(renewed, isSignOut: false))
    }

    private mutating func revokeOrphan(_ event: SessionEvent) -> SessionAction<RefreshOutcome> {
        switch (state, event) {
        case (.queueingOrphan(let renewed, let outcome), .queued(let pending)):
            return go(to: .closingForOrphan(renewed, pending, outcome), .endTransaction)
        case (.queueingOrphan(let renewed, let outcome), .failed(let error)) where error.code == .conflict:
            return beginAgain(renewed, received!.revision, orphanedBy: outcome)
                ?? go(to: .closingForOrphan(renewed, nil, outcome), .endTransaction)
        // Without an entry there is one try.
        case (.queueingOrphan(let renewed, let outcome), .failed):
            return go(to: .closingForOrphan(renewed, nil, outcome), .endTransaction)
        case (.closingForOrphan(let renewed, let pending, let outcome), .done):
            return go(to: .revokingOrphan(outcome), .revoke(renewed, pending))
        case (.revokingOrphan(let outcome), .done): return finish(outcome)
        default: unexpected(event, in: state)
        }
    }

    // MARK: The session is over

    private mutating func clear(_ event: SessionEvent) -> SessionAction<RefreshOutcome> {
        switch (state, event) {
        case (.openingToClear(let stored, _), .failed(let error)): return finish(.kept(stored, .cannotClear(error)))
        case (.openingToClear(_, let detail), .done): return go(to: .comparingToClear(detail), .load)
        // Clearing compares the revision once more.
        case (.comparingToClear(let detail), .content(.present(let stored, let revision)))
        where isStillStored(stored):
            let signOut = SignOut(
                .sessionEnded, date: now, issuer: stored.issuer, detail: detail, unfinishedRefresh: unfinishedRefresh)
            return go(to: .clearing(stored, signOut), .clear(signOut, ifRevision: revision))
        case (.clearing(_, let signOut), .done): return finish(.signedOut(signOut))
        case (.clearing, .failed(let error)) where error.code == .conflict: return go(to: .supersededClear, .load)
        case (.clearing(let stored, _), .failed(let error)): return finish(.kept(stored, .cannotClear(error)))
        case (.supersededClear, .content(.present(let stored, _))) where isStillStored(stored):
            return finish(.kept(stored, .init(.replacedMeanwhile)))
        case (.comparingToClear, .content(let content)), (.supersededClear, .content(let content)):
            return finish(outcome(of: content))
        default: unexpected(event, in: state)
        }
    }

    // MARK: Helpers

    private var spendsRefreshToken: Bool { derivation?.means != .tokenExchange }

    private mutating func connect(_ stored: Account) -> SessionAction<RefreshOutcome> {
        account = stored
        connected = stored
        connectionCount += 1
        return go(to: .connecting(stored), .prepareExchange(stored, derivation))
    }

    /// Why the stored tokens cannot be exchanged; `nil` if they can.
    private func obstacle(in stored: Account) -> UnverifiedReason? {
        guard spendsRefreshToken else { return nil }
        if let move = stored.move { return .init(move) }
        return stored.credentials.refreshToken == nil
            ? .init(.notChecked, detail: "there is no refresh token") : nil
    }

    /// Ends the refresh. If it followed on a token for another API that was refused, and the session goes on, the outcome is why that
    /// was refused.
    private mutating func finish(_ outcome: RefreshOutcome) -> SessionAction<RefreshOutcome> {
        var outcome = outcome
        if let refusal {
            switch outcome {
            case .adopted(let account) where account.credentials.derivedToken(for: refusal.target) != nil: break
            case .renewed(let found), .adopted(let found), .unsaved(let found, _):
                // The caller of another user gets a conflict.
                if found.isSameUser(as: account) { outcome = .kept(found, refusal.reason) }
            case .kept, .signedOut, .unreadable: break
            }
        }
        return go(to: .finished, .finish(outcome))
    }

    /// Whether the stored tokens are those that are to be replaced, or those that a missing token is to be derived from.
    func isToBeUsed(_ stored: Account) -> Bool {
        guard stored.isSameUser(as: account) else { return false }
        // The refresh token may have been replaced for a token for another API, and the access token not.
        guard let derivation else { return stored.credentials.accessToken == account.credentials.accessToken }
        let known = account.credentials.derivedToken(for: derivation.target)
        guard let found = stored.credentials.derivedToken(for: derivation.target) else { return true }
        // Another process has just had it.
        guard found.credentials.accessToken == known?.credentials.accessToken else { return false }
        return !found.credentials.isGood(for: derivation.validity, at: now)
    }

    /// Whether the archive still holds the tokens that this refresh is about.
    private func isStillStored(_ stored: Account) -> Bool { stored.isSameGrant(as: account) }

    private func outcome(of content: AccountArchive.Content) -> RefreshOutcome {
        switch content {
        // A lease that was lost: only the refresh token was replaced, or by other tokens than the one that is wanted.
        case .present(let stored, _) where isToBeUsed(stored): .kept(stored, .init(.replacedMeanwhile))
        case .present(let stored, _): .adopted(stored)
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        }
    }
}

extension UnverifiedReason {
    /// Whether the service, or the app's registration there, is not set up for what was asked.
    fileprivate var isAboutRequest: Bool { code == .misconfigured || code == .insufficientScope }

    fileprivate static func cannotSave(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(.init(savingFailure: error), detail: error.description)
    }
}
