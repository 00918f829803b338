public import AccountKit
import AccountSupport

extension OAuthAuthority: DeviceAuthority {
    static let deviceCodeGrant = "urn:ietf:params:oauth:grant-type:device_code"

    /// Requests a code that the user enters on another device (RFC 8628, section 3.1).
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service does not support device authorization; an
    ///   `AccountError` if the registration of the app cannot be stored.
    public func beginDeviceSignIn() async throws -> DeviceAuthorization {
        guard let endpoint = try await documents.endpoint(.deviceAuthorization) else {
            throw documents.flaw(of: .deviceAuthorization)
                ?? AuthorityError.misconfigured(
                    "\(issuer) does not support sign-in on another device; sign in with a browser (on a command line, with --web, "
                        + "or with --paste for a browser on another machine) or with a password (--password)")
        }
        // Unlike a browser, a device brings no response that names its issuer, even if the metadata promises it.
        try discovery.checkServer(of: endpoint.url, .deviceAuthorization)
        if let token = try await documents.endpoint(.token) { try discovery.checkServer(of: token.url, .token) }
        var form = FormBody()
        let scopes = try await requestedScopes()
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        appendTarget(to: &form)
        for (name, value) in options.sortedParameters { form.append(name, value) }
        return try await registeringAgain(for: scopes, grant: Self.deviceCodeGrant) { chosen throws(AuthorityError) in
            try await asSignInClient(chosen.client) { client throws(AuthorityError) in
                let request = try await request(
                    form, to: endpoint, as: client, authentication: endpoint.document.tokenAuthentication)
                var authorization = try ResponseParser(.deviceAuthorization, sent: request.secrets, quirks: quirks)
                    .deviceAuthorization(in: try await send(request))
                authorization.state = .init(chosen)
                return authorization
            }
        }
    }

    /// Polls the token endpoint once to check whether the user has entered the code (RFC 8628, section 3.4).
    ///
    /// - Returns: The tokens. To find their user, call ``account(with:)``, which you can repeat.
    /// - Throws: An `AuthorityError`: `oauthError(.authorizationPending)` and the other errors of section 3.5.
    public func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws(AuthorityError) -> Credentials {
        var form = FormBody()
        form.append("grant_type", Self.deviceCodeGrant)
        form.append("device_code", authorization.deviceCode)
        let begun = authorization.state?.value as? SignInClient
        let chosen = if let begun { begun } else { SignInClient(try signInClient()) }
        return try await requestSignInTokens(form, as: chosen).credentials
    }

    /// Returns the account for the tokens, with the user from the user info endpoint, the ID token or the introspection
    /// endpoint.
    ///
    /// - Throws: An `AuthorityError` if AccountKit cannot identify the user.
    public func account(with credentials: Credentials) async throws(AuthorityError) -> Account {
        try await account(with: credentials, signedInAs: nil)
    }
}
