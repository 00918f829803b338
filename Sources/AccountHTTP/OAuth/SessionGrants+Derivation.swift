import AccountKit

/// Tokens for other APIs, or with fewer scopes.
extension SessionGrants {
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

    /// Returns the grant with which AccountKit obtains a token for a target.
    ///
    /// | target | with a refresh token | without |
    /// | --- | --- | --- |
    /// | resources | refresh | token exchange |
    /// | scopes only | token exchange if the service offers it, else refresh | token exchange |
    /// | audience | token exchange | token exchange |
    ///
    /// The service offers token exchange if its `grant_types_supported` lists the grant (RFC 8414, section 2). For
    /// scopes, token exchange comes first because some services limit the next refresh token to the scopes of a
    /// refresh.
    ///
    /// A refresh can request only the resources and scopes of the sign-in, or some of them (RFC 6749, section 6; RFC
    /// 8707, section 2.2). AccountKit rejects a larger request without sending it, because some services consume the
    /// refresh token even if they reject the request.
    ///
    /// - Throws: `misconfigured` if neither grant is possible.
    func derivation(for target: TokenTarget, of account: Account) async throws(AuthorityError) -> TokenDerivation {
        try connection.checkIssuer(of: account)
        if target.audience == nil, account.credentials.refreshToken != nil {
            try checkIsPart(target, of: account)
            guard target.resources.isEmpty, try await connection.documents.listsGrant(GrantType.tokenExchange) else {
                return .refresh
            }
            return .tokenExchange
        }
        guard try await connection.documents.listsGrant(GrantType.tokenExchange) else {
            guard target.audience == nil else {
                throw .misconfigured(
                    "\(connection.name) does not offer token exchange (RFC 8693), which a token for another audience "
                        + "requires: request a resource instead, if the service supports resources")
            }
            throw .misconfigured(
                "\(connection.name) issued no refresh token and does not offer token exchange (RFC 8693), so it issues no other tokens"
            )
        }
        return .tokenExchange
    }

    func prepare(
        _ target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws(AuthorityError) -> OAuthExchange {
        try connection.checkIssuer(of: account)
        var form = FormBody()
        switch derivation {
        case .refresh:
            guard let refreshToken = account.credentials.refreshToken else { throw Self.noRefreshToken }
            form.append("grant_type", GrantType.refreshToken)
            form.append("refresh_token", refreshToken)
        case .tokenExchange:
            form.append("grant_type", GrantType.tokenExchange)
            form.append("subject_token", account.credentials.accessToken)
            form.append("subject_token_type", Self.accessTokenType)
            form.append("requested_token_type", Self.accessTokenType)
        }
        if let audience = target.audience { form.append("audience", audience) }
        let scopes = requestedScopes(for: target, of: account, by: derivation)
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        // If the target has no audience and no resources, its scopes apply to the resources of the sign-in.
        let names = target.audience != nil || !target.resources.isEmpty
        return try await prepare(
            form, of: account, isRefresh: derivation == .refresh, resources: names ? target.resources : nil)
    }

    /// Returns the scopes to request. A refresh includes `offline_access` if the service granted it: without this
    /// scope, some services revoke the refresh token and issue no new one.
    private func requestedScopes(for target: TokenTarget, of account: Account, by derivation: TokenDerivation)
        -> [String]
    {
        guard derivation == .refresh, !target.scopes.isEmpty, !target.scopes.contains(Scope.offlineAccess),
            account.credentials.scopes.contains(Scope.offlineAccess)
        else { return target.scopes }
        return target.scopes + [Scope.offlineAccess]
    }

    /// Checks that the sign-in included the target. The granted resources are unknown if the sign-in named none, and
    /// the granted scopes are unknown if the service named none.
    private func checkIsPart(_ target: TokenTarget, of account: Account) throws(AuthorityError) {
        let resources = connection.resources(of: account)
        if !resources.isEmpty, let other = target.resources.first(where: { !resources.contains($0) }) {
            throw .misconfigured("you did not sign in for the resource \(other): sign in again and include it")
        }
        let granted = account.credentials.scopes
        // Also accept requested scopes: some services grant them under other names.
        if !granted.isEmpty,
            let other = target.scopes.first(where: { !granted.contains($0) && !scopes.scopes.contains($0) })
        {
            throw .misconfigured("the service did not grant the scope \(other): sign in again and request it")
        }
    }
}
