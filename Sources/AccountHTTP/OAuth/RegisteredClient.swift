import AccountKit

/// The OAuth client of a request (RFC 6749, section 2).
struct RegisteredClient: Sendable {
    let id: String

    /// The client secret, or `nil` for a public client.
    var secret: Secret?

    /// The source of assertions, for a client that authenticates with assertions (RFC 7523, section 2.2).
    var assertion: (any ClientAssertion)?

    /// The source of assertions, for a client that authenticates with the assertions of its platform.
    var workload: WorkloadSource?

    /// The required subject of the ``workload``'s assertions, if the session is bound to one.
    var subject: String?

    /// Whether the client can authenticate.
    var isConfidential: Bool { secret != nil || assertion != nil || workload != nil }

    /// The form in which the client sends its secret. If `nil`, the endpoint's metadata determines the method.
    var authentication: SecretForm?
}
