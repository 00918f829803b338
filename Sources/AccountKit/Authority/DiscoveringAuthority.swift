/// An authority that knows the URL of an API, and asks the API for its authorization servers (RFC 9728).
package protocol DiscoveringAuthority: AccountAuthority {
    /// The URL of the API.
    var url: String { get }

    /// Returns the issuers that the API names, at least one. The first call asks the API.
    func authorizationServers() async throws(AccountError) -> [String]

    /// Returns the same authority with one of the issuers that the API names.
    func choosing(issuer: String) -> any DiscoveringAuthority

    /// Returns the service of a sign-in. The first call asks the API.
    ///
    /// - Throws: `misconfigured` if the sign-in would send a secret, a key or an assertion that the user supplies, and only
    ///   the API names the service.
    func signInService() async throws(AccountError) -> SignInService

    /// Returns the resources that a sign-in requests tokens for (RFC 8707); empty if the API names none. The first call asks
    /// the API.
    func signInResources() async throws(AccountError) -> [String]

    /// What the API required beyond the token in the last check of a session; `nil` for nothing.
    var unmetRequirement: AccessRequirement? { get }

    /// Returns an error if the access token names its audience, and the API is not part of it (RFC 7519, section 4.1.3).
    func audienceProblem(of credentials: Credentials) -> AccountError?

    /// Returns whether the user must register a client at the service, because the app has no client ID and cannot obtain
    /// one. Asks the API and the service.
    func requiresClientID() async throws(AccountError) -> Bool

    /// Returns the `https` page with information for developers that the service names (`service_documentation`; RFC
    /// 8414, section 2); `nil` if it names none. The text may contain control characters.
    func serviceDocumentation() async throws(AccountError) -> String?

    /// Returns the same authority with further scopes and parameters for the next sign-in.
    func adding(_ requirement: AccessRequirement, grantedTo account: Account) throws(AccountError)
        -> any DiscoveringAuthority

    /// Sends the account's token to the API, and returns what the API requires beyond it; `nil` for nothing.
    func requirement(for account: Account) async throws(AccountError) -> AccessRequirement?
}

/// An authority that can find out whether a sign-in with a password is possible, before the user enters the password.
package protocol DiscoveringPasswordAuthority: PasswordAuthority {
    /// Looks up the service and the client. Throws an ``AuthorityError`` if the service cannot be reached, or if it
    /// requires a client ID that the app does not have.
    func preparePasswordSignIn() async throws
}

/// An authority that registers the app at its service (RFC 7591).
package protocol RegisteringAuthority: AccountAuthority {
    /// Whether the next sign-in should be tried once more, because the service rejected the registration of the app.
    var hasRejectedRegistration: Bool { get }

    /// Removes the registration that an account used, at the service and here (RFC 7592, section 2.3). Does nothing if
    /// the service cannot remove registrations, if the account used another client, or if a sign-in is in progress that
    /// uses the registration.
    ///
    /// - Parameter isUsed: Returns whether a session uses the registration. No sign-in stores such a session between
    ///   this call and the removal.
    func removeRegistration(
        of account: Account, unless isUsed: () async throws -> Bool
    ) async throws(AccountError)

    /// Whether a sign-in with this authority has replaced a registration that the service can remove.
    var hasReplacedRegistration: Bool { get }

    /// Removes the registration that a sign-in with this authority has replaced, at the service. Does nothing in the same
    /// cases as ``removeRegistration(of:unless:)``. Call this method after the session is stored.
    ///
    /// - Parameter isUsed: Returns whether a session uses a client.
    func removeReplacedRegistration(
        unless isUsed: (_ clientID: String) async throws -> Bool
    ) async throws(AccountError)
}
