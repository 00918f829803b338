/// The result of revoking the tokens of an account.
///
/// A service returns ``done`` or ``notSupported``; AccountKit finds the others.
public enum RevocationOutcome: Sendable, Hashable {
    /// No user was signed in, the archive could not be opened, or the app passed no service.
    case notNeeded
    /// The service has revoked the tokens, or no longer recognized them.
    case done
    /// The service was unreachable, and the tokens are queued. The store revokes them after the next successful request to
    /// the service.
    case queued(AuthorityError)
    /// The service refused to revoke the tokens.
    case refused(AuthorityError)
    /// The service cannot revoke tokens. The tokens are valid until they expire.
    case notSupported
    /// The service was unreachable, and the tokens could not be queued, for example because the disk is full. The
    /// tokens are valid until they expire.
    case lost(AuthorityError)

    /// The error response from the service, or the reason why there was no response.
    package var failure: AuthorityError? {
        switch self {
        case .queued(let failure), .refused(let failure), .lost(let failure): failure
        case .notNeeded, .done, .notSupported: nil
        }
    }

    /// This outcome, or without an entry in the queue, from which there would be a later attempt, ``lost(_:)``.
    func ifQueued(_ isQueued: Bool) -> RevocationOutcome {
        if case .queued(let failure) = self, !isQueued { .lost(failure) } else { self }
    }
}
