import AccountKit

/// The revocation of the tokens of an account at one service (RFC 7009).
extension ServiceClients {
    /// Revokes the refresh token, the access token and the derived tokens; see ``OAuthAuthority/revoke(_:)``.
    func revoke(_ account: Account) async throws(AuthorityError) -> RevocationOutcome {
        try connection.checkIssuer(of: account)
        let client = self.client(of: account.credentials)
        let key = try account.credentials.key
        try checkSecret(of: client, for: account)
        guard let endpoint = try await connection.documents.endpoint(.revocation) else { return .notSupported }
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
        var request = try await self.request(form, to: endpoint, as: client, authentication: methods)
        request.key = key
        let response = try await connection.send(request)
        do throws(AuthorityError) {
            try ResponseParser(.revocation, sent: request.secrets, quirks: connection.quirks).acknowledgement(
                in: response)
            return nil
        } catch {
            switch error {
            case .oauthError("server_error", _), .oauthError("temporarily_unavailable", _): throw error
            // The token is already invalid (RFC 7009, section 2.2).
            case .oauthError("invalid_grant", _), .oauthError("invalid_token", _): return nil
            case .oauthError, .refused: return error
            default: throw error
            }
        }
    }

    /// Revokes tokens that belong to no account, in a separate task, so that they do not stay valid if the caller is
    /// cancelled.
    func revoked(_ credentials: Credentials) async -> RevocationOutcome {
        await Task {
            do {
                return try await revoke(Account(id: "", issuer: connection.name, credentials: credentials))
            } catch {
                return .refused(AuthorityError(error))
            }
        }.value
    }
}
