/// The result of revoking the tokens of an account.
public enum RevocationOutcome: Sendable, Hashable {
    /// The service has revoked the tokens, or no longer knew them.
    case done
    /// The service cannot revoke tokens. They are valid until they expire.
    case notSupported
}
