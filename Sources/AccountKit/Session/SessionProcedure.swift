#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One thing that is done in the life of a session, as a state machine without I/O: it says what is to be done next, is
/// told what came of it, and in the end says how things stand.
///
/// Files, locks, networks and tasks are around it, in ``AccountStore``; a test or a simulation can put anything else
/// there, in any order of events.
protocol SessionProcedure: Sendable {
    associatedtype Outcome: Sendable

    /// What is to be done first.
    mutating func start() -> SessionStep<Outcome>

    /// What is to be done after `event` came of the last step.
    mutating func resume(after event: SessionEvent) -> SessionStep<Outcome>
}

/// What a procedure wants done, and in brackets what may come of it.
enum SessionStep<Outcome: Sendable>: Sendable {
    /// Read the archive (`content`).
    case load

    /// Begin a transaction (`done`, `failed`). It ends with the procedure.
    case lock

    /// The same, for what is not worth a long wait (`done`, `failed`).
    case lockSoon

    /// Make sure that the account could be saved (`done`, `failed`).
    case prepareSave

    /// Put an archive that cannot be read out of the way (`setAside`, `failed`).
    case setAside

    /// Undo that (`done`, `failed`).
    case putBack(from: String)

    /// Record that a refresh token is about to be spent (`intentRecorded`, `failed`).
    case recordIntent

    /// Forget that record (`done`, `failed`).
    case forgetIntent

    /// Ask the service whose the token is (`verified`, `refused`).
    case verify(Account)

    /// Ask the service for new tokens (`renewed`, `refused`).
    case requestTokens(Account)

    /// Refresh the account, or join those who are at it (`refreshEnded`).
    case refresh(Account)

    /// Save an account in place of a revision (`saved`, `failed`).
    case save(Account, ifRevision: ArchiveRevision?)

    /// Keep the tokens, sealed, until the service has been told of the sign-out (`done`, `failed`).
    case queueRevocation(Account)

    /// Undo that, because the account is still signed in (`done`, `failed`).
    case withdrawRevocation(Account)

    /// Remember an account that could not be saved in place of a revision, and whose tokens were spent for its own (`done`).
    case keepUnsaved(Account, inPlaceOf: Account, ifRevision: ArchiveRevision)

    /// Remove the account, and record why (`done`, `failed`).
    case clear(SignOut, ifRevision: ArchiveRevision)

    /// Nothing more.
    case finish(Outcome)
}

/// What came of a step.
enum SessionEvent: Sendable {
    case done
    case failed(AccountError)
    case content(AccountArchive.Content)
    case verified(Identity)
    case renewed(Credentials)
    case refused(AuthoritySignal)
    case refreshEnded(RefreshOutcome)
    case saved(Account)
    case setAside(place: String)

    /// The date is that of the record before it, if that was never forgotten.
    case intentRecorded(unfinished: Date?)
}

/// How a refresh ended.
enum RefreshOutcome: Sendable {
    /// These tokens are new, from the service.
    case renewed(Account)

    /// These tokens are what the archive holds now, in place of those that were to be refreshed.
    case adopted(Account)

    /// The account is as it was, and why.
    case kept(Account, UnverifiedReason)

    /// The tokens are new, and could not be stored.
    case unsaved(Account, AccountError)

    /// Nobody is signed in any more.
    case signedOut(SignOut)

    /// The archive cannot be read any more.
    case unreadable(AccountError)
}

extension SessionProcedure {
    /// For an event that the step before cannot have had.
    func unexpected(_ event: SessionEvent, in phase: some Any) -> Never {
        preconditionFailure("\(Self.self): \(event) came in the phase \(phase)")
    }
}
