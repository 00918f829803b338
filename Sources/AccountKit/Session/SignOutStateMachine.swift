#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Removes the account because the user says so.
///
/// Under the lock: read → put the tokens into the queue of revocations → remove the account. Then the service is told.
struct SignOutStateMachine: SessionStateMachine {
    enum Ended: Sendable {
        case nobody

        /// Who was signed out, and where the tokens are kept until the service has been told; `nil` if they could not be.
        case account(Account, RevocationQueue.Pending?)

        /// Nobody knows who: the archive did not open, and was moved there.
        case quarantined(place: String)
    }

    typealias Outcome = Result<Ended, AccountError>

    enum State: SessionMachineState {
        case opening, comparing
        case queueing(Account, ArchiveRevision)
        case clearing(Account, RevocationQueue.Pending?)
        case withdrawing(AccountError)
        case quarantining
        case finished
    }

    private let signOut: SignOut
    private let isToBeTold: Bool
    private let keepsUnreadable: Bool
    var state = State.opening

    /// - Parameters:
    ///   - isToBeTold: Whether to revoke the tokens at the service, now or later.
    ///   - keepsUnreadable: Whether an archive that does not open stays where it is, because other machines may open it.
    init(_ signOut: SignOut, isToBeTold: Bool, keepsUnreadable: Bool = false) {
        self.signOut = signOut
        self.isToBeTold = isToBeTold
        self.keepsUnreadable = keepsUnreadable
    }

    mutating func start() -> SessionAction<Outcome> { .beginTransaction }

    mutating func resume(after event: SessionEvent) -> SessionAction<Outcome> {
        switch (state, event) {
        case (.opening, .done): return go(to: .comparing, .load)
        case (.comparing, .content(.absent)): return finish(.success(.nobody))
        // The service would end the session where it is now. Of a move that was not completed, the tokens wait there.
        case (.comparing, .content(.present(let account, let revision))) where account.move != nil:
            guard let move = account.move, !move.isComplete, isToBeTold else { return clear(account, revision, nil) }
            return finish(.failure(AccountError(move)))
        // The tokens are put into the queue first, so that a crash on the way does not lose them.
        case (.comparing, .content(.present(let account, let revision))) where isToBeTold:
            return go(to: .queueing(account, revision), .queueRevocation(account, isSignOut: true))
        case (.comparing, .content(.present(let account, let revision))): return clear(account, revision, nil)
        // What cannot be reached cannot be moved either; what does not open is kept for whoever has its key.
        case (.comparing, .content(.unreadable(let error))) where error.isAboutContent && !keepsUnreadable:
            return go(to: .quarantining, .quarantine(signOut))
        case (.comparing, .content(.unreadable(let error))): return finish(.failure(error))
        case (.quarantining, .quarantined(let place)): return finish(.success(.quarantined(place: place)))

        // A full disk, or a queue that cannot be written, keeps nobody signed in.
        case (.queueing(let account, let revision), .queued(let pending)): return clear(account, revision, pending)
        case (.queueing(let account, let revision), .failed): return clear(account, revision, nil)
        case (.clearing(let account, let pending), .done): return finish(.success(.account(account, pending)))
        // Who is still signed in must not be signed out by the service later. What could not be queued may be there too.
        case (.clearing(let account, _), .failed(let error)) where isToBeTold:
            return go(to: .withdrawing(error), .withdrawRevocation(account))
        case (.withdrawing(let error), .done), (.withdrawing(let error), .failed): return finish(.failure(error))
        case (_, .failed(let error)): return finish(.failure(error))
        default: unexpected(event, in: state)
        }
    }

    private mutating func clear(
        _ account: Account, _ revision: ArchiveRevision, _ pending: RevocationQueue.Pending?
    ) -> SessionAction<Outcome> {
        go(to: .clearing(account, pending), .clear(signOut, ifRevision: revision))
    }
}

extension AccountError {
    /// Whether the archive was reached and does not open, rather than not reached.
    package var isAboutContent: Bool {
        [.noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion].contains(code)
    }
}
