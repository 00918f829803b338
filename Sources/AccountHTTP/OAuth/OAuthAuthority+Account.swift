public import AccountKit

// MARK: The service

extension OAuthAuthority {
    /// Returns the service of a sign-in. If an API names it, the first call asks the API.
    func service() async throws(AuthorityError) -> OAuthService {
        switch origin {
        case .issuer(let service): service
        case .api(let api): try await api.signInService()
        }
    }

    /// Returns the service of a sign-in that sends a credential of the user, in addition to that of the client.
    ///
    /// - Throws: An `AccountError` with the code `misconfigured` if only an API names the service, and the service would
    ///   receive a credential; otherwise an `AuthorityError`.
    func service(receiving supplied: SuppliedCredential?) async throws -> OAuthService {
        switch origin {
        case .issuer(let service): service
        case .api(let api): try await api.service(receiving: supplied)
        }
    }

    /// Returns the service that issued an account's tokens. It sends them only if the account belongs to it.
    func service(of account: Account) throws(AuthorityError) -> OAuthService {
        switch origin {
        case .issuer(let service): service
        case .api(let api): try api.service(of: account)
        }
    }

    /// The service of the last sign-in; `nil` if an API names it, and has not been asked.
    var resolvedService: OAuthService? {
        switch origin {
        case .issuer(let service): service
        case .api(let api): api.cache.signIn
        }
    }
}

// MARK: - The account

extension OAuthAuthority: AccountAuthority {
    /// Requests the user of the access token from the user info endpoint (OpenID Connect Core, section 5.3).
    ///
    /// If user info cannot identify the user of a token for an API, AccountKit asks the introspection endpoint, and then
    /// sends a GET request with the token to that API. Each response except 401 confirms the session, unless it may not come
    /// from the API, such as 503 or a redirect to another server.
    ///
    /// - Returns: The user. All claims except `sub` are fields of the profile with the same names.
    /// - Throws: An `AuthorityError`: `otherUser` if the token belongs to another user; `misconfigured` if the account
    ///   belongs to another service or to a client, or if the service has no user info endpoint and the token is for no API.
    public func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        let (identity, requirement) = try await service(of: account).clients.check(account)
        if case .api(let api) = origin { api.cache.requirement = requirement }
        return identity
    }

    /// Exchanges the refresh token for a new access token (RFC 6749, section 6), as the client to which the service
    /// issued the refresh token. For the session of a client without a user, requests another access token.
    ///
    /// If an earlier response narrowed the scopes of the session, AccountKit requests all scopes of the sign-in. If the
    /// service rejects this request with `invalid_scope`, the refresh token remains unused, and AccountKit sends a
    /// second request without scopes.
    ///
    /// - Returns: The new credentials. If the service sent no refresh token, they contain none, and the old refresh
    ///   token is still valid. If the service issued an access token of the wrong type, such as a token that is not bound to
    ///   the key of the session, or an ID token of another user (OpenID Connect Core, section 12.2), AccountKit stores these
    ///   credentials and returns the access token to no program.
    /// - Throws: An `AuthorityError`: `misconfigured` if the account has no refresh token.
    public func refresh(_ account: Account) async throws(AuthorityError) -> Credentials {
        try await service(of: account).sessions.prepare(.refresh, of: account).exchange { true }.credentials
    }

    /// Revokes the refresh token, the access token and the derived tokens (RFC 7009).
    ///
    /// A token that the service does not recognize counts as revoked. If the service revokes only refresh tokens, the
    /// access token counts as revoked with its refresh token.
    ///
    /// - Returns: `notSupported` if the metadata of the service contains no revocation endpoint. In this case,
    ///   AccountKit sends no request, and the tokens stay valid until they expire.
    /// - Throws: An `AuthorityError`, for example if the metadata cannot be read.
    public func revoke(_ account: Account) async throws(AuthorityError) -> RevocationOutcome {
        // Tokens that a sign-in could not store belong to no user yet.
        if let signIn = resolvedService, signIn.connection.isIssuer(of: account) {
            return try await signIn.clients.revoke(account)
        }
        return try await service(of: account).clients.revoke(account)
    }

    /// Returns whether the account belongs to this service, and to the program if it signs in as itself. If an API names
    /// the service, returns whether a sign-in for this API obtained the account.
    public func isAuthority(of account: Account) -> Bool {
        let isService =
            switch origin {
            case .issuer(let service): service.connection.isIssuer(of: account)
            case .api(let api): api.isFor(account)
            }
        return isService && (machine?.isIdentity(of: account) ?? true)
    }

    /// The issuer identifier, as stored in accounts: scheme and host in lower case, without a trailing slash. If an API names
    /// it, the issuer of the last sign-in, or the chosen one; `nil` before the first sign-in.
    public var issuer: String? {
        if let resolvedService { return resolvedService.connection.name }
        guard case .api(let api) = origin else { return nil }
        return api.issuer.map { (try? Issuer($0))?.identifier ?? $0 }
    }

    /// The value in the ``KnownService`` entry of the service, or `false` if the service has no entry. If an API names the
    /// service, `false` before the first sign-in.
    public var supportsPerGrantRevocation: Bool {
        resolvedService?.connection.known?.supportsPerGrantRevocation ?? false
    }

    /// The time limit for a token request, from its first byte.
    ///
    /// A token request consumes a refresh token or a code. After AccountKit has sent the request, only this limit ends
    /// the wait for the response. The `timeout` of the authority and the cancellation of the task have no effect.
    public var tokenRequestTimeout: Duration { settings.tokenRequestTimeout }
}
