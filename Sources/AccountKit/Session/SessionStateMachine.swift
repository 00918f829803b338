#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One thing that is done in the life of a session, where others may come in between: a state machine without I/O. It says
/// what is to be done next, is told what came of it, and in the end says how things stand.
///
/// Files, locks, networks and tasks are around it, in ``SessionDriver``; a test or a simulation can put anything else
/// there, in any order of events.
protocol SessionStateMachine: Sendable {
    associatedtype Outcome: Sendable
    associatedtype State: SessionMachineState

    var state: State { get set }

    /// What is to be done first.
    mutating func start() -> SessionAction<Outcome>

    /// What is to be done after `event` came of the last action.
    mutating func resume(after event: SessionEvent) -> SessionAction<Outcome>
}

protocol SessionMachineState: Sendable {
    static var finished: Self { get }
}

/// What a state machine wants done, and in brackets what may come of it.
enum SessionAction<Outcome: Sendable>: Sendable {
    /// Read the archive (`content`).
    case load

    /// Begin a transaction (`done`, `failed`). It ends with ``endTransaction``, or with the machine.
    case beginTransaction

    /// The same, for what is not worth a long wait (`done`, `failed`).
    case beginTransactionSoon

    /// End the transaction, so that others can change the archive (`done`).
    case endTransaction

    /// End the transaction, and take another lease if the one of this refresh may be lost (`done`, `failed`).
    case renewLease

    /// Look up the token endpoint and connect to it; no token is sent (`done`, `refused`, `postponed`).
    case prepareExchange(Account, Derivation?)

    /// Make sure that the account could be saved (`done`, `failed`).
    case prepareSave

    /// Record that a refresh token is about to be spent; from here on nothing cuts the machine off (`intentRecorded`,
    /// `postponed`, `failed`).
    case recordIntent

    /// Begin a request that spends nothing; from here on nothing cuts the machine off either (`intentRecorded`, `postponed`,
    /// `failed`).
    case beginExchange

    /// Record that the refresh failed, so that the service is left alone for a while (`done`, `failed`).
    case recordFailure(UnverifiedReason, mayBeSpent: Bool)

    /// Forget that record (`done`, `failed`).
    case forgetRefreshRecord

    /// Ask the service whose the token is (`verified`, `refused`).
    case verify(Account)

    /// Ask the service for new tokens (`renewed`, `refused`).
    case requestTokens(Account)

    /// Ask the service for a token for another API (`renewed`, `refused`).
    case deriveToken(Account, Derivation)

    /// Refresh the account, or join those who are at it (`refreshEnded`).
    case refresh(Account)

    /// Save an account in place of a revision (`saved`, `failed`).
    case save(Account, ifRevision: ArchiveRevision)

    /// Put the tokens into the queue of those that the service is to revoke (`queued`, `failed`).
    case queueRevocation(Account, isSignOut: Bool)

    /// Undo that, because the account is still signed in (`done`, `failed`).
    case withdrawRevocation(Account)

    /// Ask the service to revoke tokens that nobody holds any more, which may be in the queue (`done`).
    case revoke(Account, RevocationQueue.Pending?)

    /// Remember an account that could not be saved in place of a revision, and whose tokens were spent for its own (`done`).
    case keepUnsaved(Account, inPlaceOf: Account, ifRevision: ArchiveRevision)

    /// Move an archive that cannot be read out of the way, and record why (`quarantined`, `failed`).
    case quarantine(SignOut)

    /// Remove the account, and record why (`done`, `failed`).
    case clear(SignOut, ifRevision: ArchiveRevision)

    /// Nothing more.
    case finish(Outcome)
}

/// What came of an action.
enum SessionEvent: Sendable {
    case done
    case failed(AccountError)
    case content(AccountArchive.Content)
    case verified(Identity)
    case renewed(Credentials)
    case refused(AuthorityError)
    case refreshEnded(RefreshOutcome)
    case saved(Account)
    case queued(RevocationQueue.Pending)
    case quarantined(place: String)

    /// The date is that of the record before it, if that was never forgotten.
    case intentRecorded(unfinished: Date?)

    /// Another process's refresh has failed meanwhile, so none is sent now.
    case postponed(UnverifiedReason)
}

/// A token for another API that is wanted.
struct Derivation: Sendable, Equatable {
    let target: TokenTarget
    let means: TokenDerivation

    /// For how long the token should be good; `nil` is the usual.
    let validity: Duration?

    var request: TokenRequest { .derivation(target, means) }
}

enum RefreshOutcome: Sendable {
    /// The service issued new tokens, and they are stored.
    case renewed(Account)

    /// These tokens are what the archive holds now, in place of those that were to be refreshed.
    case adopted(Account)

    /// No new tokens: the account is as it was, and why.
    case kept(Account, UnverifiedReason)

    /// The tokens are new, and could not be stored.
    case unsaved(Account, AccountError)
    case signedOut(SignOut)
    case unreadable(AccountError)
}

extension SessionStateMachine {
    mutating func go(to state: State, _ action: SessionAction<Outcome>) -> SessionAction<Outcome> {
        self.state = state
        return action
    }

    mutating func finish(_ outcome: Outcome) -> SessionAction<Outcome> { go(to: .finished, .finish(outcome)) }

    /// For an event that the action before cannot have had.
    func unexpected(_ event: SessionEvent, in state: some Any) -> Never {
        preconditionFailure("\(Self.self): \(event) came in the state \(state)")
    }
}
