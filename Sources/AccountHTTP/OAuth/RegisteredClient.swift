import AccountKit

/// The client as which a request is sent (RFC 6749, section 2).
struct RegisteredClient: Sendable, Equatable {
    let id: String

    /// `nil` for a public client.
    var secret: Secret?

    /// How the secret is sent; `nil` lets the endpoint decide.
    var authentication: ClientAuthentication?
}
