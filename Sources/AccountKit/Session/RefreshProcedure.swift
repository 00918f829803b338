#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A refresh: spends a refresh token at most once, and only when the reply can be stored.
///
/// Lock → read again; another process may have been faster → take the tokens off the queue of revocations → make sure
/// that the result can be saved → record the intent → ask the service → save before anyone uses it → forget the intent.
struct RefreshProcedure: SessionProcedure {
    private enum Phase {
        case locking
        case comparing
        case withdrawing(Account, ArchiveRevision)
        case preparing(Account, ArchiveRevision)
        case recording(Account, ArchiveRevision)
        case requesting(Account, ArchiveRevision)
        case saving(Account, ArchiveRevision, isRetry: Bool)
        case supersededSave(Account, AccountError, isRetry: Bool)
        case keeping(Account, AccountError)
        case clearing(Account, SignOut)
        case supersededClear
        case forgetting(RefreshOutcome)
        case finished
    }

    private let account: Account
    private let now: Date
    private var phase = Phase.locking

    /// When a refresh of these tokens was begun before, whose reply was never stored.
    private var unfinishedRefresh: Date?

    /// - Parameters:
    ///   - account: Whose tokens are to be replaced; if the archive holds others, those are the result.
    ///   - now: The date.
    init(of account: Account, now: Date) {
        self.account = account
        self.now = now
    }

    mutating func start() -> SessionStep<RefreshOutcome> { .lock }

    mutating func resume(after event: SessionEvent) -> SessionStep<RefreshOutcome> {
        switch (phase, event) {
        case (.locking, .failed(let error)): return finish(.kept(account, .cannotSave(error)))
        case (.locking, .done): return go(to: .comparing, .load)

        case (.comparing, .content(.present(let stored, let revision))):
            guard isAboutToBeReplaced(stored) else { return finish(.adopted(stored)) }
            guard stored.credentials.refreshToken != nil else {
                return finish(.kept(stored, .init(.notChecked, detail: "there is no refresh token")))
            }
            // A process that died while it signed out has left these tokens to be revoked. Once they are replaced, nobody
            // could tell any more that they are of a session that goes on.
            return go(to: .withdrawing(stored, revision), .withdrawRevocation(stored))
        case (.withdrawing(let stored, let revision), .done):
            return go(to: .preparing(stored, revision), .prepareSave)
        // Somebody changed the archive although it was locked, but not the tokens: the new ones belong into it.
        case (.supersededSave(let renewed, let error, let isRetry), .content(.present(var stored, let revision)))
        where isAboutToBeReplaced(stored):
            stored.credentials = renewed.credentials
            stored.verifiedAt = now
            if isRetry {
                return go(to: .keeping(stored, error), .keepUnsaved(stored, inPlaceOf: account, ifRevision: revision))
            }
            return go(to: .saving(stored, revision, isRetry: true), .save(stored, ifRevision: revision))
        case (.supersededClear, .content(.present(let stored, _))) where isAboutToBeReplaced(stored):
            return finish(.kept(stored, .init(.replacedMeanwhile)))
        case (.comparing, .content(let content)), (.supersededSave, .content(let content)),
            (.supersededClear, .content(let content)):
            return finish(outcome(of: content))

        case (.withdrawing(let stored, _), .failed(let error)), (.preparing(let stored, _), .failed(let error)),
            (.recording(let stored, _), .failed(let error)):
            return finish(.kept(stored, .cannotSave(error)))
        case (.preparing(let stored, let revision), .done):
            return go(to: .recording(stored, revision), .recordIntent)
        case (.recording(let stored, let revision), .intentRecorded(let unfinished)):
            unfinishedRefresh = unfinished
            return go(to: .requesting(stored, revision), .requestTokens(stored))

        case (.requesting(let stored, let revision), .renewed(let credentials)):
            var renewed = stored
            renewed.credentials = stored.credentials.renewed(by: credentials)
            // An authority may have the date from its service. One that is ahead must not lead to the next refresh.
            if renewed.credentials.isFromFuture(at: now) { renewed.credentials.issuedAt = now }
            renewed.verifiedAt = now
            return go(to: .saving(renewed, revision, isRetry: false), .save(renewed, ifRevision: revision))
        case (.requesting(let stored, let revision), .refused(let signal)):
            return rule(on: signal, stored, revision)

        case (.saving, .saved(let account)): return go(to: .forgetting(.renewed(account)), .forgetIntent)
        case (.saving(let renewed, _, let isRetry), .failed(let error)) where error.code == .conflict:
            return go(to: .supersededSave(renewed, error, isRetry: isRetry), .load)
        // The old token is spent, so it is worth a second try: with a new file, not with what was reserved.
        case (.saving(let renewed, let revision, isRetry: false), .failed):
            return go(to: .saving(renewed, revision, isRetry: true), .save(renewed, ifRevision: revision))
        case (.saving(let renewed, let revision, isRetry: true), .failed(let error)):
            return go(to: .keeping(renewed, error), .keepUnsaved(renewed, inPlaceOf: account, ifRevision: revision))
        case (.keeping(let renewed, let error), .done): return finish(.unsaved(renewed, error))

        case (.clearing(_, let signOut), .done): return go(to: .forgetting(.signedOut(signOut)), .forgetIntent)
        case (.clearing, .failed(let error)) where error.code == .conflict: return go(to: .supersededClear, .load)
        case (.clearing(let stored, _), .failed(let error)): return finish(.kept(stored, .cannotClear(error)))

        // A record too many is harmless: the next refresh replaces it.
        case (.forgetting(let outcome), .done), (.forgetting(let outcome), .failed): return finish(outcome)

        default: unexpected(event, in: phase)
        }
    }

    private mutating func rule(
        on signal: AuthoritySignal, _ stored: Account, _ revision: ArchiveRevision
    ) -> SessionStep<RefreshOutcome> {
        // Read under the lock, so the token that was sent is the stored one; clearing compares the revision once more.
        switch Ruling(on: signal, to: .refresh, .init(holdsRefreshToken: true)) {
        case .clear(let detail):
            let signOut = SignOut(
                .sessionEnded, date: now, issuer: stored.issuer, detail: detail, unfinishedRefresh: unfinishedRefresh)
            return go(to: .clearing(stored, signOut), .clear(signOut, ifRevision: revision))
        case .keep(let reason):
            return keep(stored, reason, signal)
        case .refreshOnce, .adoptStored, .attemptFailed, .pollAgain, .startOver, .revokeLater:
            return keep(stored, .init(.unclearReply), signal)
        }
    }

    private mutating func keep(
        _ stored: Account, _ reason: UnverifiedReason, _ signal: AuthoritySignal
    ) -> SessionStep<RefreshOutcome> {
        // As long as the token may have been spent, now or before, the record of it stays.
        guard unfinishedRefresh == nil, signal.wasCertainlyNotCarriedOut else { return finish(.kept(stored, reason)) }
        return go(to: .forgetting(.kept(stored, reason)), .forgetIntent)
    }

    /// Whether the archive still holds the tokens that this refresh is about.
    private func isAboutToBeReplaced(_ stored: Account) -> Bool {
        stored.isSameUser(as: account) && stored.credentials.hasSameTokens(as: account.credentials)
    }

    private func outcome(of content: AccountArchive.Content) -> RefreshOutcome {
        switch content {
        case .present(let account, _): .adopted(account)
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        }
    }

    private mutating func go(to phase: Phase, _ step: SessionStep<RefreshOutcome>) -> SessionStep<RefreshOutcome> {
        self.phase = phase
        return step
    }

    private mutating func finish(_ outcome: RefreshOutcome) -> SessionStep<RefreshOutcome> {
        go(to: .finished, .finish(outcome))
    }
}

extension UnverifiedReason {
    fileprivate static func cannotSave(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(error.code == .busy ? .busy : .cannotSave, detail: error.description)
    }
}
