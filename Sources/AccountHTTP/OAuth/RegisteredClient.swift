import AccountKit

/// The client in whose name a request is sent (RFC 6749, section 2).
struct RegisteredClient: Sendable, Equatable {
    let id: String

    /// `nil` for a public client.
    var secret: Secret?

    /// How the secret is sent. With `nil`, the endpoint's metadata decides.
    var authentication: ClientAuthentication?
}
