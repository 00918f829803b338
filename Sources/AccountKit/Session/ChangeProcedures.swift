#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Puts a new sign-in in place of whatever is there.
struct SignInProcedure: SessionProcedure {
    private enum Phase {
        case locking, comparing, settingAside
        /// With the place of what was set aside, if something was.
        case saving(inPlaceOf: String?)
        case puttingBack(AccountError)
        case finished
    }

    private let account: Account
    private var phase = Phase.locking

    init(_ account: Account) { self.account = account }

    mutating func start() -> SessionStep<Result<Account, AccountError>> { .lock }

    mutating func resume(after event: SessionEvent) -> SessionStep<Result<Account, AccountError>> {
        switch (phase, event) {
        case (.locking, .done): return go(to: .comparing, .load)
        case (.comparing, .content(.absent)): return go(to: .saving(inPlaceOf: nil), .save(account, ifRevision: nil))
        case (.comparing, .content(.present(_, let revision))):
            return go(to: .saving(inPlaceOf: nil), .save(account, ifRevision: revision))
        case (.comparing, .content(.unreadable(let error))):
            // What cannot be reached cannot be moved either; what does not open is kept for whoever has its key.
            guard error.isAboutContent else { return go(to: .finished, .finish(.failure(error))) }
            return go(to: .settingAside, .setAside)
        case (.settingAside, .setAside(let place)):
            return go(to: .saving(inPlaceOf: place), .save(account, ifRevision: nil))
        case (.saving, .saved(let account)): return go(to: .finished, .finish(.success(account)))
        // Otherwise an archive that cannot be read would have become none at all.
        case (.saving(inPlaceOf: let place?), .failed(let error)):
            return go(to: .puttingBack(error), .putBack(from: place))
        case (.puttingBack(let error), .done), (.puttingBack(let error), .failed):
            return go(to: .finished, .finish(.failure(error)))
        case (_, .failed(let error)): return go(to: .finished, .finish(.failure(error)))
        default: unexpected(event, in: phase)
        }
    }

    private mutating func go(
        to phase: Phase, _ step: SessionStep<Result<Account, AccountError>>
    ) -> SessionStep<Result<Account, AccountError>> {
        self.phase = phase
        return step
    }
}

/// Removes the account because the user says so.
struct SignOutProcedure: SessionProcedure {
    /// Who was signed out, and whether the service can be told later.
    struct Ended: Sendable {
        var account: Account
        var isQueued: Bool
    }

    private enum Phase {
        case locking, comparing
        case queueing(Account, ArchiveRevision)
        case clearing(Ended)
        case withdrawing(AccountError)
        case forgetting(Ended)
        case finished
    }

    private let signOut: SignOut
    private let isToBeTold: Bool
    private var phase = Phase.locking

    /// - Parameters:
    ///   - signOut: Why and when.
    ///   - isToBeTold: Whether the service is to be told, now or later.
    init(_ signOut: SignOut, isToBeTold: Bool) {
        self.signOut = signOut
        self.isToBeTold = isToBeTold
    }

    mutating func start() -> SessionStep<Result<Ended?, AccountError>> { .lock }

    /// The outcome is `nil` if nobody was signed in.
    mutating func resume(after event: SessionEvent) -> SessionStep<Result<Ended?, AccountError>> {
        switch (phase, event) {
        case (.locking, .done): return go(to: .comparing, .load)
        case (.comparing, .content(.absent)): return go(to: .finished, .finish(.success(nil)))
        // The tokens are put into the queue first, so that a crash on the way does not lose them.
        case (.comparing, .content(.present(let account, let revision))) where isToBeTold:
            return go(to: .queueing(account, revision), .queueRevocation(account))
        case (.comparing, .content(.present(let account, let revision))):
            return clear(account, revision, isQueued: false)
        case (.comparing, .content(.unreadable(let error))): return go(to: .finished, .finish(.failure(error)))
        // A full disk, or a queue that cannot be written, keeps nobody signed in.
        case (.queueing(let account, let revision), .done): return clear(account, revision, isQueued: true)
        case (.queueing(let account, let revision), .failed): return clear(account, revision, isQueued: false)
        case (.clearing(let ended), .done): return go(to: .forgetting(ended), .forgetIntent)
        // Who is still signed in must not be signed out by the service later. What could not be queued may be there too.
        case (.clearing(let ended), .failed(let error)) where isToBeTold:
            return go(to: .withdrawing(error), .withdrawRevocation(ended.account))
        case (.withdrawing(let error), .done), (.withdrawing(let error), .failed):
            return go(to: .finished, .finish(.failure(error)))
        case (.forgetting(let ended), .done), (.forgetting(let ended), .failed):
            return go(to: .finished, .finish(.success(ended)))
        case (_, .failed(let error)): return go(to: .finished, .finish(.failure(error)))
        default: unexpected(event, in: phase)
        }
    }

    private mutating func clear(
        _ account: Account, _ revision: ArchiveRevision, isQueued: Bool
    ) -> SessionStep<Result<Ended?, AccountError>> {
        go(to: .clearing(Ended(account: account, isQueued: isQueued)), .clear(signOut, ifRevision: revision))
    }

    private mutating func go(
        to phase: Phase, _ step: SessionStep<Result<Ended?, AccountError>>
    ) -> SessionStep<Result<Ended?, AccountError>> {
        self.phase = phase
        return step
    }
}

/// Changes the stored account, whatever it is by then.
struct UpdateProcedure: SessionProcedure {
    private enum Phase { case locking, comparing, saving, finished }

    private let change: @Sendable (inout Account) throws(AccountError) -> Void
    private var phase = Phase.locking

    init(_ change: @escaping @Sendable (inout Account) throws(AccountError) -> Void) { self.change = change }

    mutating func start() -> SessionStep<Result<Account, AccountError>> { .lock }

    mutating func resume(after event: SessionEvent) -> SessionStep<Result<Account, AccountError>> {
        switch (phase, event) {
        case (.locking, .done): return go(to: .comparing, .load)
        case (.comparing, .content(.present(var account, let revision))):
            do throws(AccountError) {
                try change(&account)
            } catch {
                return go(to: .finished, .finish(.failure(error)))
            }
            return go(to: .saving, .save(account, ifRevision: revision))
        case (.comparing, .content(.absent)):
            let error = AccountError(.notSignedIn, "nobody is signed in, so there is nothing to change: sign in first")
            return go(to: .finished, .finish(.failure(error)))
        case (.comparing, .content(.unreadable(let error))): return go(to: .finished, .finish(.failure(error)))
        case (.saving, .saved(let account)): return go(to: .finished, .finish(.success(account)))
        case (_, .failed(let error)): return go(to: .finished, .finish(.failure(error)))
        default: unexpected(event, in: phase)
        }
    }

    private mutating func go(
        to phase: Phase, _ step: SessionStep<Result<Account, AccountError>>
    ) -> SessionStep<Result<Account, AccountError>> {
        self.phase = phase
        return step
    }
}

extension AccountError {
    /// Whether the archive was reached and does not open, rather than not reached.
    var isAboutContent: Bool {
        [.noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion].contains(code)
    }
}
