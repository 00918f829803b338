public import AccountKit
import Logging

extension OAuthAuthority: AccountAuthority {
    /// Requests the user of the access token from the user info endpoint (OpenID Connect Core, section 5.3).
    ///
    /// - Returns: The user. All claims except `sub` are fields of the profile with the same names.
    /// - Throws: An `AuthorityError`: `otherUser` if the token belongs to another user; `misconfigured` if the account
    ///   belongs to another service, or if the service has no user info endpoint.
    public func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        try checkIssuer(of: account)
        guard account.credentials.machine == nil else {
            throw .misconfigured("this session belongs to a client, not to a user")
        }
        let identity = try await identity(of: account)
        guard identity.id == account.id else { throw .otherUser(id: identity.id) }
        return identity
    }

    private func identity(of account: Account) async throws(AuthorityError) -> Identity {
        if let url = storedUserInfo(of: account.credentials) {
            let failure: AuthorityError
            do throws(AuthorityError) {
                let identity = try await userInfo(with: account.credentials, at: url).identity
                guard identity.id == account.id else { throw .otherUser(id: identity.id) }
                return identity
            } catch {
                failure = error
            }
            // An endpoint that the service no longer uses can neither end nor withhold the session.
            let mayHaveMoved = failure.isResponse || failure.isAboutHost && url.host != issuerIdentifier.url.host
            guard mayHaveMoved, try await documents.endpoint(.userInfo)?.url != url else { throw failure }
        }
        if account.credentials.isForAPIOnly {
            // Only a refresh can show that the session has ended.
            var identity = try await introspectedIfAllowed(account.credentials)
            // Keep the account's ID if it did not come from the service.
            if account.isUnidentified || identity?.username == account.id { identity?.id = account.id }
            guard let identity, identity.id == account.id else {
                throw .misconfigured("\(issuer) cannot identify the user of this token, which is for an API only")
            }
            return identity
        }
        let asksUserInfo = try await asksUserInfo(with: account.credentials)
        if !asksUserInfo, account.credentials.idToken == nil,
            var identity = try await introspectedIfAllowed(account.credentials)
        {
            // Keep the account's ID if it did not come from the service.
            if account.id == identity.username || account.isUnidentified { identity.id = account.id }
            return identity
        }
        if !asksUserInfo, api != nil {
            throw .misconfigured(
                "\(issuer) cannot identify the user of this token: it was requested without the scope openid")
        }
        return try await userInfo(with: account.credentials).identity
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
        try await prepareRefresh(of: account).exchange { true }.credentials
    }

    func prepareRefresh(of account: Account) async throws(AuthorityError) -> OAuthExchange {
        try checkIssuer(of: account)
        if let machine = account.credentials.machine { return try await prepareTokens(for: machine, of: account) }
        guard let refreshToken = account.credentials.refreshToken else {
            throw .misconfigured("the account has no refresh token: sign in again")
        }
        var form = FormBody()
        form.append("grant_type", "refresh_token")
        form.append("refresh_token", refreshToken)
        let scopes = account.credentials.signInScopes
        guard !scopes.isEmpty else { return try await prepareTokens(form, of: account, isRefresh: true) }
        var complete = form
        complete.append("scope", scopes.joined(separator: " "))
        var exchange = try await prepareTokens(complete, of: account, isRefresh: true)
        exchange.scopes = scopes
        exchange.withoutScopes = { [form] () async throws(AuthorityError) in
            try await prepareTokens(form, of: account, isRefresh: true)
        }
        return exchange
    }

    /// Returns the resources of the sign-in. An earlier version did not store them with the account.
    func resources(of account: Account) -> [String] {
        account.credentials.resources.isEmpty ? options.resources : account.credentials.resources
    }

    func prepareTokens(
        _ form: FormBody, of account: Account, isRefresh: Bool, resources: [String]? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        let client = try registeredClient(of: account)
        if let machine = account.credentials.machine, machine.workload == nil, !client.isConfidential {
            throw missingSecret(of: client)
        }
        var exchange = try await prepareTokens(
            form, as: client, isRefresh: isRefresh, resources: resources ?? self.resources(of: account),
            at: account.credentials.tokenEndpoint, key: account.credentials.key)
        (exchange.issuer, exchange.owner) = (issuerIdentifier, account)
        exchange.registrations = self.client.registrations
        return exchange
    }

    /// Returns whether the account belongs to this service.
    public func isAuthority(of account: Account) -> Bool {
        account.issuer.map { issuerIdentifier.isSame(as: $0) } ?? false
    }

    /// The ``issuer``.
    public var accountIssuer: String? { issuer }

    /// Revokes the refresh token, the access token and the derived tokens (RFC 7009).
    ///
    /// A token that the service does not recognize counts as revoked. If the service revokes only refresh tokens, the
    /// access token counts as revoked with its refresh token.
    ///
    /// - Returns: `notSupported` if the metadata of the service contains no revocation endpoint. In this case,
    ///   AccountKit sends no request, and the tokens stay valid until they expire.
    /// - Throws: An `AuthorityError`, for example if the metadata cannot be read.
    public func revoke(_ account: Account) async throws(AuthorityError) -> RevocationOutcome {
        try checkIssuer(of: account)
        let client = client(of: account.credentials)
        let key = try account.credentials.key
        if let machine = account.credentials.machine, machine.workload == nil || machine.hasSecret,
            client?.isConfidential != true
        {
            throw missingSecret(of: client)
        }
        guard let endpoint = try await documents.endpoint(.revocation) else { return .notSupported }
        var isTaken = false
        var refusal: AuthorityError?
        if let refreshToken = account.credentials.refreshToken {
            refusal = try await revoke(refreshToken, "refresh_token", at: endpoint, as: client, key)
            isTaken = refusal == nil
        }
        let derived = account.credentials.derivedTokens.map(\.credentials.accessToken)
        for token in [account.credentials.accessToken] + derived {
            switch try await revoke(token, "access_token", at: endpoint, as: client, key) {
            // Ignore this error: the service revokes access tokens with the refresh token, or not at all (RFC 7009,
            // section 2.1).
            case .oauthError("unsupported_token_type", _)? where isTaken: break
            case let failure: refusal = refusal ?? failure
            }
        }
        if let refusal { throw refusal }
        return .done
    }

    /// Revokes a token. Returns the error if the service rejected the request, and throws any other error, such as a
    /// temporary failure.
    private func revoke(
        _ token: Secret, _ hint: String, at endpoint: Endpoint, as client: RegisteredClient?, _ key: ProofKey?
    ) async throws(AuthorityError) -> AuthorityError? {
        var form = FormBody()
        form.append("token", token)
        form.append("token_type_hint", hint)
        let methods = endpoint.document.revocationAuthentication ?? endpoint.document.tokenAuthentication
        var request = try await request(form, to: endpoint, as: client, authentication: methods)
        request.key = key
        let response = try await send(request)
        do throws(AuthorityError) {
            try ResponseParser(.revocation, sent: request.secrets, quirks: quirks).acknowledgement(in: response)
            return nil
        } catch {
            switch error {
            case .oauthError(.serverError, _), .oauthError(.temporarilyUnavailable, _): throw error
            // The token is already invalid (RFC 7009, section 2.2).
            case .oauthError(.invalidGrant, _), .oauthError("invalid_token", _): return nil
            case .oauthError, .badRequest: return error
            default: throw error
            }
        }
    }

    /// The value in the ``KnownService`` entry of the service, or `false` if the service has no entry.
    public var supportsPerGrantRevocation: Bool { service?.supportsPerGrantRevocation ?? false }
}

extension OAuthAuthority: EndSessionAuthority {
    package func endSessionURL() async -> String? {
        do {
            return try await documents.endpoint(.endSession)?.url.description
        } catch {
            logger?.debug("the sign-out page is unknown", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

extension OAuthAuthority: NetworkSettingsAuthority {
    package var networkSettings: [NetworkSetting] { transport.environment.settings(for: issuerIdentifier.url) }
}

extension OAuthAuthority: ClockAuthority {
    /// Requests the discovery document for its `Date` field, which even a 404 response contains (RFC 9110, section
    /// 6.6.1).
    package func clockOffset() async throws -> Duration? {
        try await send(ServiceRequest(url: discovery.urls[0])).clockOffset
    }
}
