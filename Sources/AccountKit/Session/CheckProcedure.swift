#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The start-up check: is the stored account still good?
///
/// Read → refresh if the token looks expired → ask the service → store what it said, or rule on why it did not.
struct CheckProcedure: SessionProcedure {
    private enum Phase {
        case loading
        case refreshing(Account, afterRefusal: Bool)
        case verifying(Account, justRefreshed: Bool)
        case lockingToStore(Account, Identity)
        case comparingToStore(Account, Identity)
        case storing(Account)
        case lockingToClear(Account, AuthoritySignal)
        case comparingToClear(Account, AuthoritySignal)
        case clearing(Account, SignOut)
        case finished
    }

    private let now: Date
    private let maximumAge: TimeInterval
    private var phase = Phase.loading

    /// - Parameters:
    ///   - now: The date of the check.
    ///   - maximumAge: For how many seconds a confirmation holds; 0 always asks.
    init(now: Date, maximumAge: TimeInterval) {
        self.now = now
        self.maximumAge = maximumAge
    }

    mutating func start() -> SessionStep<SessionState> { .load }

    mutating func resume(after event: SessionEvent) -> SessionStep<SessionState> {
        switch (phase, event) {
        case (.loading, .content(.present(let account, _))): return begin(with: account)
        case (.loading, .content(let content)): return finish(state(without: content))

        case (.refreshing(_, let afterRefusal), .refreshEnded(.renewed(let account))):
            return afterRefusal ? verify(account, justRefreshed: true) : finish(.verified(account))
        // Nobody has said here that the service knows these.
        case (.refreshing, .refreshEnded(.adopted(let account))): return verify(account, justRefreshed: true)
        case (.refreshing, .refreshEnded(.kept(let account, let reason))):
            return finish(.unverified(account, reason))
        case (.refreshing, .refreshEnded(.unsaved(let account, let error))):
            return finish(.unverified(account, .init(.notSaved, detail: error.description)))
        case (.refreshing, .refreshEnded(.signedOut(let signOut))): return finish(.signedOut(signOut))
        case (.refreshing, .refreshEnded(.unreadable(let error))): return finish(.unreadable(error))

        case (.verifying(let account, let justRefreshed), .verified(let identity)):
            guard identity.id == account.id else {
                return rule(on: .otherUser(id: identity.id), account, justRefreshed: justRefreshed)
            }
            return go(to: .lockingToStore(account, identity), .lockSoon)
        case (.verifying(let account, let justRefreshed), .refused(let signal)):
            return rule(on: signal, account, justRefreshed: justRefreshed)

        // The service has confirmed the account. That this cannot be written down changes nothing about it.
        case (.lockingToStore(let account, let identity), .failed):
            return finish(.verified(account.confirmed(as: identity, at: now)))
        case (.lockingToStore(let account, let identity), .done):
            return go(to: .comparingToStore(account, identity), .load)
        case (.comparingToStore(let account, let identity), .content(.present(let stored, let revision))):
            guard stored.isSameUser(as: account), stored.credentials.hasSameTokens(as: account.credentials) else {
                return finish(adopted(stored))
            }
            let confirmed = stored.confirmed(as: identity, at: now)
            return go(to: .storing(confirmed), .save(confirmed, ifRevision: revision))
        case (.comparingToStore, .content(let content)): return finish(state(without: content))
        case (.storing, .saved(let account)): return finish(.verified(account))
        case (.storing(let account), .failed): return finish(.verified(account))

        case (.lockingToClear(let account, _), .failed(let error)):
            return finish(.unverified(account, .cannotClear(error)))
        case (.lockingToClear(let account, let signal), .done):
            return go(to: .comparingToClear(account, signal), .load)
        case (.comparingToClear(let account, let signal), .content(.present(let stored, let revision))):
            return ruleUnderLock(on: signal, about: account, stored: stored, revision)
        case (.comparingToClear, .content(let content)): return finish(state(without: content))
        case (.clearing(_, let signOut), .done): return finish(.signedOut(signOut))
        case (.clearing(let account, _), .failed(let error)):
            return finish(.unverified(account, .cannotClear(error)))

        default: unexpected(event, in: phase)
        }
    }

    private mutating func begin(with account: Account) -> SessionStep<SessionState> {
        if account.isConfirmed(within: maximumAge, of: now) { return finish(.verified(account)) }
        if account.credentials.refreshToken != nil, account.credentials.expires(within: 0, of: now) {
            return go(to: .refreshing(account, afterRefusal: false), .refresh(account))
        }
        return verify(account, justRefreshed: false)
    }

    private mutating func verify(_ account: Account, justRefreshed: Bool) -> SessionStep<SessionState> {
        go(to: .verifying(account, justRefreshed: justRefreshed), .verify(account))
    }

    private mutating func rule(
        on signal: AuthoritySignal, _ account: Account, justRefreshed: Bool
    ) -> SessionStep<SessionState> {
        let circumstances = Ruling.Circumstances(
            holdsRefreshToken: account.credentials.refreshToken != nil, justRefreshed: justRefreshed)
        switch Ruling(on: signal, to: .verify, circumstances) {
        case .keep(let reason): return finish(.unverified(account, reason))
        case .refreshOnce: return go(to: .refreshing(account, afterRefusal: true), .refresh(account))
        case .clear: return go(to: .lockingToClear(account, signal), .lock)
        case .adoptStored, .attemptFailed, .pollAgain, .startOver, .revokeLater:
            return finish(.unverified(account, .init(.unclearReply)))
        }
    }

    /// Now that nobody else can change the archive: was the answer about the token that is stored?
    private mutating func ruleUnderLock(
        on signal: AuthoritySignal, about account: Account, stored: Account, _ revision: ArchiveRevision
    ) -> SessionStep<SessionState> {
        let circumstances = Ruling.Circumstances(
            holdsRefreshToken: stored.credentials.refreshToken != nil,
            sentTokenIsStored: stored.credentials.hasSameTokens(as: account.credentials))
        guard case .clear(let detail) = Ruling(on: signal, to: .verify, circumstances) else {
            return finish(adopted(stored))
        }
        let signOut = SignOut(.sessionEnded, date: now, issuer: stored.issuer, detail: detail)
        return go(to: .clearing(stored, signOut), .clear(signOut, ifRevision: revision))
    }

    /// The state of an account that another process has put in place of the one that was asked about.
    private func adopted(_ stored: Account) -> SessionState {
        stored.isConfirmed(within: maximumAge, of: now)
            ? .verified(stored) : .unverified(stored, .init(.replacedMeanwhile))
    }

    private func state(without content: AccountArchive.Content) -> SessionState {
        switch content {
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        case .present(let account, _): .unverified(account, .init(.notChecked))
        }
    }

    private mutating func go(to phase: Phase, _ step: SessionStep<SessionState>) -> SessionStep<SessionState> {
        self.phase = phase
        return step
    }

    private mutating func finish(_ state: SessionState) -> SessionStep<SessionState> {
        go(to: .finished, .finish(state))
    }
}

extension Account {
    /// Whether the service confirmed the account in the last `seconds`. A confirmation from the future does not count.
    func isConfirmed(within seconds: TimeInterval, of date: Date) -> Bool {
        guard seconds > 0, let verifiedAt else { return false }
        let age = date.timeIntervalSince(verifiedAt)
        return age >= 0 && age < seconds
    }

    /// The account after the service said whose it is.
    func confirmed(as identity: Identity, at date: Date) -> Account {
        var account = self
        account.username = identity.username ?? username
        account.profile.merge(identity.profile)
        account.verifiedAt = date
        return account
    }
}

extension UnverifiedReason {
    /// The service ended the session, and the archive could not be changed.
    static func cannotClear(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(
            error.code == .busy ? .busy : .cannotSave,
            detail: "the service ended this session, and the archive could not be changed: \(error)")
    }
}
