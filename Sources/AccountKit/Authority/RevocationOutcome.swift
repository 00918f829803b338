/// What came of telling a service that a sign-in is over.
public enum RevocationOutcome: String, Sendable, Hashable, CaseIterable {
    /// The service has revoked the tokens, or did not know them any more.
    case done
    /// The service could not be told yet, and will be.
    case queued
    /// The service was told and refused for good; the tokens stay valid there until they expire.
    case refused
    /// The service has no way to be told; the tokens stay valid there until they expire.
    case notSupported
}
