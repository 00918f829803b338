public import AccountKit

extension OAuthAuthority: AccountAuthority {
    /// Asks the user info endpoint whose the access token is (OpenID Connect Core, section 5.3).
    ///
    /// - Returns: The user. All claims but `sub` are fields of the profile, under their own names.
    /// - Throws: An `AuthoritySignal`: `otherUser` if the token is another user's, `misconfigured` if the account is of
    ///   another service or this one has no user info endpoint.
    public func verify(_ account: Account) async throws(AuthoritySignal) -> Identity {
        try checkIssuer(of: account)
        let identity = try await userInfo(with: account.credentials.accessToken).identity
        guard identity.id == account.id else { throw .otherUser(id: identity.id) }
        return identity
    }

    /// Exchanges the refresh token for a new access token (RFC 6749, section 6), as the client that it was issued to.
    ///
    /// - Returns: The new credentials; without a refresh token if the service sent none, which means that the old one
    ///   is still good.
    /// - Throws: An `AuthoritySignal`: `misconfigured` if the account has no refresh token.
    public func refresh(_ account: Account) async throws(AuthoritySignal) -> Credentials {
        try checkIssuer(of: account)
        guard let refreshToken = account.credentials.refreshToken else {
            throw .misconfigured("the account has no refresh token, so it can only sign in again")
        }
        var form = FormBody()
        form.append("grant_type", "refresh_token")
        form.append("refresh_token", refreshToken)
        return try await requestCredentials(
            form, for: try registeredClient(account.credentials.clientID), isRefresh: true)
    }

    /// Whether the account was issued by this service.
    public func isAuthority(of account: Account) -> Bool {
        account.issuer.map { issuerIdentifier.isSame(as: $0) } ?? false
    }

    /// `HTTPS_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`, as far as they are set.
    public var networkSettings: [NetworkSetting] { transport.environment.settings(for: issuerIdentifier.url) }

    /// Takes the refresh token back, or the access token if there is none (RFC 7009).
    ///
    /// - Returns: `notSupported`, without a request, if the service has no revocation endpoint: the tokens live on there
    ///   till they expire.
    /// - Throws: An `AuthoritySignal`.
    public func revoke(_ account: Account) async throws(AuthoritySignal) -> RevocationOutcome {
        try checkIssuer(of: account)
        guard let url = try await revocationURL() else { return .notSupported }
        var form = FormBody()
        if let refreshToken = account.credentials.refreshToken {
            form.append("token", refreshToken)
            form.append("token_type_hint", "refresh_token")
        } else {
            form.append("token", account.credentials.accessToken)
            form.append("token_type_hint", "access_token")
        }
        let request = HTTPRequest(url: url, form: identified(form, as: account.credentials.clientID ?? clientID))
        try ReplyReading(.revocation, sent: request.secrets, dialect: dialect).acknowledgement(
            in: try await send(request))
        return .done
    }

    /// As the service's entry says; of one without an entry it is not known.
    public var revokesSingleGrants: Bool { service?.revokesSingleGrants ?? false }
}
