import AccountKit

/// The OAuth client of a request (RFC 6749, section 2).
struct RegisteredClient: Sendable {
    let id: String

    /// The client secret, or `nil` for a client without one.
    var secret: Secret?

    /// The source of assertions, for a client that authenticates with assertions (RFC 7523, section 2.2).
    var assertion: (any ClientAssertion)?

    /// The form in which the client sends its secret. If `nil`, the endpoint's metadata determines the method.
    var authentication: SecretForm?

    /// The use of the registration until the session of a sign-in is stored; `nil` if the client is not a stored registration.
    var use: RegistrationUse?

    /// Whether the client can authenticate.
    var isConfidential: Bool { secret != nil || assertion != nil }
}

extension RegisteredClient {
    init(_ registration: ClientRegistration, _ use: RegistrationUse?) {
        self.init(
            id: registration.clientID, secret: registration.clientSecret,
            authentication: registration.clientAuthentication.flatMap { SecretForm(name: $0) }, use: use)
    }
}
