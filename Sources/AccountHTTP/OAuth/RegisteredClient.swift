import AccountKit

/// The OAuth client of a request (RFC 6749, section 2).
struct RegisteredClient: Sendable, Equatable {
    let id: String

    /// The client secret, or `nil` for a public client.
    var secret: Secret?

    /// The method with which the client sends its secret. If `nil`, the endpoint's metadata determines the method.
    var authentication: ClientAuthentication?
}
