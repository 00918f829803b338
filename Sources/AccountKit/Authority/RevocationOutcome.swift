/// The result of revoking the tokens of an account.
public enum RevocationOutcome: String, Sendable, Hashable, CaseIterable {
    /// The service has revoked the tokens, or no longer knew them.
    case done
    /// The service was unreachable, and the tokens are queued.
    case queued
    /// The service refused. The tokens are valid until they expire.
    case refused
    /// The service cannot revoke tokens. They are valid until they expire.
    case notSupported
}
