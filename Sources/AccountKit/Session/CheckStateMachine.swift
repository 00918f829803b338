#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The start-up check: is the stored account still good?
///
/// Read → refresh if the token looks expired → ask the service → store what it said, or decide why it did not. If another
/// process has put other tokens in place meanwhile, the service is asked about those.
struct CheckStateMachine: SessionStateMachine {
    enum State: SessionMachineState {
        case loading
        case refreshing(Account, afterRefusal: Bool)
        case verifying(Account, justRefreshed: Bool)
        case openingToStore(Account, Identity)
        case comparingToStore(Account, Identity)
        case storing(Account)
        case openingToClear(Account, AuthorityError)
        case comparingToClear(Account, AuthorityError)
        case clearing(Account, SignOut)
        case closingToAskAgain(Account)
        case finished
    }

    /// How often it begins again with what another process has stored meanwhile.
    private static let repetitionLimit = 2

    private let now: Date
    private let maximumAge: TimeInterval
    private let mismatch: @Sendable (Account) -> String?
    private var repetitionCount = 0
    var state = State.loading

    /// - Parameters:
    ///   - maximumAge: For how many seconds a confirmation holds; 0 always asks.
    ///   - mismatch: Why an account is not of the service that is asked; `nil` if it is.
    init(now: Date, maximumAge: TimeInterval, mismatch: @escaping @Sendable (Account) -> String? = { _ in nil }) {
        self.now = now
        self.maximumAge = maximumAge
        self.mismatch = mismatch
    }

    mutating func start() -> SessionAction<SessionState> { .load }

    mutating func resume(after event: SessionEvent) -> SessionAction<SessionState> {
        switch (state, event) {
        case (.loading, .content(.present(let account, _))): return begin(with: account)
        case (.loading, .content(let content)): return finish(state(without: content))

        case (.refreshing(_, let afterRefusal), .refreshEnded(.renewed(let account))):
            return afterRefusal || account.credentials.isWithheld
                ? verify(account, justRefreshed: true) : finish(.verified(account))
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
                return decide(on: .otherUser(id: identity.id), account, justRefreshed: justRefreshed)
            }
            return go(to: .openingToStore(account, identity), .beginTransactionSoon)
        case (.verifying(let account, let justRefreshed), .refused(let failure)):
            return decide(on: failure, account, justRefreshed: justRefreshed)

        // The service has confirmed the account. That this cannot be written down changes nothing about it.
        case (.openingToStore(let account, let identity), .failed):
            return finish(.verified(account.confirmed(as: identity, at: now)))
        case (.openingToStore(let account, let identity), .done):
            return go(to: .comparingToStore(account, identity), .load)
        case (.comparingToStore(let account, let identity), .content(.present(let stored, let revision))):
            guard stored.isSameGrant(as: account) else { return askAgain(stored) }
            let confirmed = stored.confirmed(as: identity, at: now)
            return go(to: .storing(confirmed), .save(confirmed, ifRevision: revision))
        case (.comparingToStore, .content(let content)): return finish(state(without: content))
        case (.storing, .saved(let account)): return finish(.verified(account))
        case (.storing(let account), .failed): return finish(.verified(account))

        case (.openingToClear(let account, _), .failed(let error)):
            return finish(.unverified(account, .cannotClear(error)))
        case (.openingToClear(let account, let failure), .done):
            return go(to: .comparingToClear(account, failure), .load)
        case (.comparingToClear(let account, let failure), .content(.present(let stored, let revision))):
            return decideUnderLock(on: failure, about: account, stored: stored, revision)
        case (.comparingToClear, .content(let content)): return finish(state(without: content))
        case (.clearing(_, let signOut), .done): return finish(.signedOut(signOut))
        case (.clearing(let account, _), .failed(let error)):
            return finish(.unverified(account, .cannotClear(error)))

        case (.closingToAskAgain(let stored), .done): return begin(with: stored)
        default: unexpected(event, in: state)
        }
    }

    private mutating func begin(with account: Account) -> SessionAction<SessionState> {
        if account.isConfirmed(within: maximumAge, of: now) { return finish(.verified(account)) }
        if let mismatch = mismatch(account) {
            return finish(.unverified(account, .init(.misconfigured, detail: mismatch)))
        }
        if let move = account.move, account.credentials.expires(within: .zero, of: now) {
            return finish(.unverified(account, .init(move)))
        }
        if account.credentials.refreshToken != nil, account.credentials.expires(within: .zero, of: now) {
            return go(to: .refreshing(account, afterRefusal: false), .refresh(account))
        }
        return verify(account, justRefreshed: false)
    }

    private mutating func verify(_ account: Account, justRefreshed: Bool) -> SessionAction<SessionState> {
        guard mismatch(account) == nil else { return begin(with: account) }
        return go(to: .verifying(account, justRefreshed: justRefreshed), .verify(account))
    }

    private mutating func decide(
        on failure: AuthorityError, _ account: Account, justRefreshed: Bool
    ) -> SessionAction<SessionState> {
        let context = SessionDecision.Context(
            holdsRefreshToken: account.credentials.refreshToken != nil, justRefreshed: justRefreshed)
        let decision = SessionDecision.afterVerification(failure, context)
        // The service speaks of a token that may have been replaced where the session is now.
        if let move = account.move, failure.isAboutToken { return finish(.unverified(account, .init(move))) }
        switch decision {
        case .keep(let reason): return finish(.unverified(account, reason))
        case .refreshOnce: return go(to: .refreshing(account, afterRefusal: true), .refresh(account))
        case .clear: return go(to: .openingToClear(account, failure), .beginTransaction)
        case .adoptStored: return finish(.unverified(account, .init(.unclearReply)))
        }
    }

    /// Now that nobody else can change the archive: was the answer about the token that is stored?
    private mutating func decideUnderLock(
        on failure: AuthorityError, about account: Account, stored: Account, _ revision: ArchiveRevision
    ) -> SessionAction<SessionState> {
        if let move = stored.move { return finish(.unverified(stored, .init(move))) }
        let context = SessionDecision.Context(
            holdsRefreshToken: stored.credentials.refreshToken != nil,
            sentTokenIsStored: stored.isSameGrant(as: account))
        guard case .clear(let detail) = SessionDecision.afterVerification(failure, context) else {
            return askAgain(stored)
        }
        let signOut = SignOut(.sessionEnded, date: now, issuer: stored.issuer, detail: detail)
        return go(to: .clearing(stored, signOut), .clear(signOut, ifRevision: revision))
    }

    /// Another process has put an account in place of the one that was asked about.
    private mutating func askAgain(_ stored: Account) -> SessionAction<SessionState> {
        if stored.isConfirmed(within: maximumAge, of: now) { return finish(.verified(stored)) }
        repetitionCount += 1
        guard repetitionCount <= Self.repetitionLimit else {
            return finish(.unverified(stored, .init(.replacedMeanwhile)))
        }
        return go(to: .closingToAskAgain(stored), .endTransaction)
    }

    private func state(without content: AccountArchive.Content) -> SessionState {
        switch content {
        case .absent(let signOut): .signedOut(signOut)
        case .unreadable(let error): .unreadable(error)
        case .present(let account, _): .unverified(account, .init(.notChecked))
        }
    }
}

extension AccountAuthority {
    /// Why an account is not of this service, and what to do; `nil` if it is.
    func mismatch(with account: Account) -> String? {
        guard !isAuthority(of: account) else { return nil }
        return "you are signed in at \(account.issuer ?? "another service"), but this program uses "
            + "\(accountIssuer ?? "another one"): sign in again"
    }
}

extension Account {
    /// Whether the service confirmed the account in the last `seconds`. A confirmation from the future does not count.
    package func isConfirmed(within seconds: TimeInterval, of date: Date) -> Bool {
        guard seconds > 0, let verifiedAt, !credentials.isWithheld else { return false }
        let age = date.timeIntervalSince(verifiedAt)
        return age >= 0 && age < seconds
    }

    func confirmed(as identity: Identity, at date: Date) -> Account {
        var account = self
        account.username = identity.username ?? username
        account.profile.merge(identity.profile)
        account.verifiedAt = date
        account.credentials.isWithheld = false
        return account
    }
}

extension AuthorityError {
    fileprivate var isAboutToken: Bool {
        switch self {
        case .bearerChallenge(error: "invalid_token"), .unauthorized, .rejected: true
        default: false
        }
    }
}

extension UnverifiedReason {
    static func cannotClear(_ error: AccountError) -> UnverifiedReason {
        UnverifiedReason(
            .init(savingFailure: error),
            detail: "the service ended this session, and the archive could not be changed: \(error)")
    }
}
