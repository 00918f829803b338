import AccountKit

/// The client of one sign-in.
struct SignInClient: Sendable {
    let client: RegisteredClient

    /// The use of the registration until the session is stored; `nil` if the client is not a stored registration.
    let use: RegistrationUse?

    var isRegistration: Bool { use != nil }

    init(_ client: RegisteredClient) {
        self.client = client
        use = nil
    }

    init(_ registration: ClientRegistration, _ use: RegistrationUse?) {
        client = RegisteredClient(
            id: registration.clientID, secret: registration.clientSecret,
            authentication: registration.clientAuthentication.flatMap { SecretForm(name: $0) })
        self.use = use
    }
}
