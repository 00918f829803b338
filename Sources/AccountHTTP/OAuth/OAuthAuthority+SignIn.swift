public import AccountKit

extension OAuthAuthority: PasswordAuthority {
    /// Signs in with a user name and a password (RFC 6749, section 4.3).
    ///
    /// Use this method only for your own services. OAuth 2.1 omits this grant, and many services do not support it.
    ///
    /// The user info endpoint identifies the user. If this request fails, AccountKit may repeat it once. Because the
    /// service has already issued the tokens, AccountKit then falls back to the ID token. If a service has no user
    /// info, ID tokens or introspection, the user name becomes the ID of the account. If AccountKit cannot identify the
    /// user, it revokes the tokens.
    ///
    /// - Throws: An `AuthorityError`: `oauthError("invalid_grant", …)` if the user name or the password is wrong. If they
    ///   are correct but AccountKit cannot identify the user, an `AccountError` with the failure as its cause.
    public func signIn(username: String, password: Secret) async throws -> Account {
        try await service(receiving: .password).signIns.signIn(username: username, password: password)
    }
}

extension OAuthAuthority: TokenAuthority {
    /// Signs in with an existing token, such as a personal access token.
    ///
    /// The account has no refresh token and no client, because the service did not issue the token to this app.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service has no user info endpoint, and the sign-in is for no
    ///   API that could confirm the token. If the text cannot be a token, `signInRefused` without a request to the service.
    public func signIn(token: Secret) async throws -> Account {
        try await service(receiving: .token).users.account(withToken: token)
    }
}

extension OAuthAuthority: DeviceAuthority {
    /// Requests a code that the user enters on another device (RFC 8628, section 3.1).
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service does not support device authorization; an
    ///   `AccountError` if the registration of the app cannot be stored.
    public func beginDeviceSignIn() async throws -> DeviceAuthorization {
        try await service(receiving: nil).signIns.beginDeviceSignIn()
    }

    /// Polls the token endpoint once to check whether the user has entered the code (RFC 8628, section 3.4).
    ///
    /// - Returns: The tokens. To find their user, call ``account(with:)``, which you can repeat.
    /// - Throws: An `AuthorityError`: `oauthError("authorization_pending")` and the other errors of section 3.5.
    public func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws(AuthorityError) -> Credentials {
        try await service().signIns.pollDeviceSignIn(authorization)
    }

    /// Returns the account for the tokens, with the user from the user info endpoint, the ID token or the introspection
    /// endpoint.
    ///
    /// - Throws: An `AuthorityError` if AccountKit cannot identify the user.
    public func account(with credentials: Credentials) async throws(AuthorityError) -> Account {
        try await service().users.account(with: credentials, signedInAs: nil)
    }
}

extension OAuthAuthority: BrowserAuthority {
    /// Prepares a sign-in with an authorization code, PKCE and a loopback redirect (RFC 6749, section 4.1; RFC 7636;
    /// RFC 8252, section 7.3).
    ///
    /// The service must accept the redirect URI `http://127.0.0.1/callback` with any port, or the redirect URI in the
    /// options. For Microsoft, the redirect URI is `http://localhost/callback`, and a ``KnownService`` may have another one.
    /// The sign-in listens only on the loopback interface, stops listening when it ends, and shows its result in the browser.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service has no authorization endpoint; an `AccountError`
    ///   if no port is available, or if the registration of the app cannot be stored.
    public func beginBrowserSignIn() async throws -> any BrowserSignIn {
        try await service(receiving: nil).signIns.beginBrowserSignIn()
    }
}

extension OAuthAuthority {
    /// Requests an access token as the client, and returns the client's account; see ``MachineIdentity``.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if there is no client, or if it cannot authenticate.
    public func signInAsClient() async throws -> Account {
        try await service(receiving: nil).machine.signIn()
    }

    #if Signatures
    /// Returns this authority, with a client that authenticates with a key instead of a secret (RFC 7523, section 2.2).
    public func authenticating(with key: ClientKey) -> OAuthAuthority {
        var result = self
        result.settings.client.key = key
        let client = result.settings.client
        switch origin {
        case .issuer(let service): result.origin = .issuer(service.changing(client: client))
        case .api(let api): result.origin = .api(api.changing { $0.client = client })
        }
        return result
    }
    #endif
}
