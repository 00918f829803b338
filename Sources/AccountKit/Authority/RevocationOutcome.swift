/// The result of revoking the tokens of an account.
public enum RevocationOutcome: Sendable, Hashable {
    /// The service has revoked the tokens, or no longer recognized them.
    case done
    /// The service cannot revoke tokens. The tokens are valid until they expire.
    case notSupported
}
