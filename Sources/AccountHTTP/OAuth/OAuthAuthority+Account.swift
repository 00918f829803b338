public import AccountKit
import AccountSupport
import Logging

extension OAuthAuthority: AccountAuthority {
    /// Requests the user of the access token from the user info endpoint (OpenID Connect Core, section 5.3).
    ///
    /// If user info cannot identify the user of a token for an API, AccountKit asks the introspection endpoint, and then
    /// sends a GET request with the token to that API. Each response except 401 confirms the session, unless it may not come
    /// from the API, such as 503 or a redirect to another server.
    ///
    /// - Returns: The user. All claims except `sub` are fields of the profile with the same names.
    /// - Throws: An `AuthorityError`: `otherUser` if the token belongs to another user; `misconfigured` if the account
    ///   belongs to another service, or if the service has no user info endpoint and the token is for no API.
    public func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        try await check(account).identity
    }

    /// Returns the user of the token, and what the API of the session requires beyond it; see ``verify(_:)``.
    func check(
        _ account: Account
    ) async throws(AuthorityError) -> (identity: Identity, requirement: AccessRequirement?) {
        try checkIssuer(of: account)
        guard account.credentials.machine == nil else {
            throw .misconfigured("this session belongs to a client, not to a user")
        }
        let result = try await confirmation(of: account)
        guard result.identity.id == account.id else { throw .otherUser(id: result.identity.id) }
        return result
    }

    /// Asks user info, then introspection, and then the API. The user that the sign-in stored remains the user if no
    /// endpoint of the service identifies one.
    private func confirmation(
        of account: Account
    ) async throws(AuthorityError) -> (identity: Identity, requirement: AccessRequirement?) {
        let credentials = account.credentials
        let url = apiURL(of: credentials)
        var failure: AuthorityError?
        do throws(AuthorityError) {
            if let identity = try await userInfo(of: account) { return (identity, nil) }
        } catch {
            guard url != nil, leavesOpen(error, credentials) else { throw error }
            failure = error
        }
        if credentials.isForAPIOnly || credentials.idToken == nil {
            // Only a refresh can show that the session has ended, and the API decides what introspection leaves open.
            var identity =
                url == nil ? try await introspectedIfAllowed(credentials) : try await introspectedAtSignIn(credentials)
            // Keep the account's ID if it did not come from the service.
            if account.isUnidentified || identity?.username == account.id { identity?.id = account.id }
            if let identity, identity.id == account.id || !credentials.isForAPIOnly { return (identity, nil) }
        }
        if let url { return (Identity(id: account.id), try await requirement(at: url, of: credentials)) }
        throw failure
            ?? .misconfigured(
                credentials.isForAPIOnly
                    ? "\(issuer) cannot identify the user of this token, which is for an API only" : noUserInfo)
    }

    /// Returns the user from user info; `nil` if the service has none, or if it did not identify the user at the sign-in.
    private func userInfo(of account: Account) async throws(AuthorityError) -> Identity? {
        let credentials = account.credentials
        guard !credentials.isForAPIOnly else { return nil }
        if let url = storedUserInfo(of: credentials) {
            let failure: AuthorityError
            do throws(AuthorityError) {
                let identity = settled(try await userInfo(with: credentials, at: url).identity, account)
                guard identity.id == account.id else { throw .otherUser(id: identity.id) }
                return identity
            } catch {
                failure = error
            }
            // An endpoint that the service no longer uses can neither end nor withhold the session.
            let mayHaveMoved = failure.isResponse || failure.isAboutHost && url.host != issuerIdentifier.url.host
            guard mayHaveMoved, try await documents.endpoint(.userInfo)?.url != url else { throw failure }
        }
        guard try await documents.endpoint(.userInfo) != nil else { return nil }
        return settled(try await userInfo(with: credentials).identity, account)
    }

    /// Returns the user with the ID of the account, if that ID did not come from the service.
    private func settled(_ identity: Identity, _ account: Account) -> Identity {
        var identity = identity
        let isEntered = lacksOpenID(account.credentials) && identity.username == account.id
        if account.isUnidentified || isEntered { identity.id = account.id }
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
        if let claims = learned.takeClaims() { form.append("claims", claims) }
        let scopes = refreshedScopes(of: account.credentials, omitsResource: omitsResource(for: account))
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

    /// Returns the scopes to name in a refresh: those that the service has taken away, and without `resource` all scopes,
    /// because only they name the API. The service then also needs the scopes that are not of the API.
    private func refreshedScopes(of credentials: Credentials, omitsResource: Bool) -> [String] {
        let scopes = credentials.signInScopes
        let namesAPI = quirks.refusesResource || !credentials.resources.isEmpty
        guard scopes.isEmpty, omitsResource, namesAPI, !credentials.scopes.isEmpty else { return scopes }
        let others = [Scope.offlineAccess] + (credentials.idToken == nil ? [] : [Scope.openID])
        let usual = serviceAtHost?.scopes ?? []
        return credentials.scopes + others.filter { !credentials.scopes.contains($0) && usual.contains($0) }
    }

    /// Returns the resources that a request for the tokens of an account names.
    func sentResources(of account: Account) -> [String] {
        omitsResource(for: account) ? [] : account.credentials.resources
    }

    /// Returns the resources of the sign-in. An account that an app created itself names none.
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
            form, as: client, isRefresh: isRefresh,
            resources: resources ?? (omitsResource(for: account) ? [] : self.resources(of: account)),
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
        if let machine = account.credentials.machine, machine.workload == nil, client?.isConfidential != true {
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

extension OAuthAuthority {
    package func endSessionURL() async -> String? {
        do {
            return try await documents.endpoint(.endSession)?.url.description
        } catch {
            logger?.debug("the sign-out page is unknown", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

extension OAuthAuthority {
    package var networkSettings: [NetworkSetting] { transport.environment.settings(for: issuerIdentifier.url) }
}

extension OAuthAuthority {
    /// Requests the discovery document for its `Date` field, which even a 404 response contains (RFC 9110, section
    /// 6.6.1).
    package func clockOffset() async throws -> Duration? {
        try await send(ServiceRequest(url: discovery.urls[0])).clockOffset
    }
}
