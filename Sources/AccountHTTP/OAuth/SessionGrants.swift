import AccountKit

/// The grants that obtain tokens in a session.
struct SessionGrants: Sendable {
    let connection: ServiceConnection
    let clients: ServiceClients
    let scopes: ScopeChoice
    let machine: MachineGrants

    func prepare(_ request: TokenRequest, of account: Account) async throws(AuthorityError) -> OAuthExchange {
        switch request {
        case .refresh: try await prepareRefresh(of: account)
        case .derivation(let target, let derivation): try await prepare(target, of: account, by: derivation)
        }
    }

    private func prepareRefresh(of account: Account) async throws(AuthorityError) -> OAuthExchange {
        try connection.checkIssuer(of: account)
        if let grant = account.credentials.machine { return try await machine.prepare(grant, of: account) }
        guard let refreshToken = account.credentials.refreshToken else { throw Self.noRefreshToken }
        var form = FormBody()
        form.append("grant_type", GrantType.refreshToken)
        form.append("refresh_token", refreshToken)
        if let claims = clients.learned.claims(insteadOf: account.credentials.accessToken) {
            form.append("claims", claims)
        }
        let scopes = refreshedScopes(of: account)
        guard !scopes.isEmpty else { return try await prepare(form, of: account, isRefresh: true) }
        var complete = form
        complete.append("scope", scopes.joined(separator: " "))
        var exchange = try await prepare(complete, of: account, isRefresh: true)
        exchange.scopes = scopes
        exchange.withoutScopes = { [form] () async throws(AuthorityError) in
            try await prepare(form, of: account, isRefresh: true)
        }
        return exchange
    }

    static let noRefreshToken = AuthorityError.misconfigured("the account has no refresh token: sign in again")

    /// Returns the scopes to name in a refresh: those that the service has taken away, and without `resource` all scopes,
    /// because only they name the API. The service then also needs the scopes that are not of the API.
    private func refreshedScopes(of account: Account) -> [String] {
        let credentials = account.credentials
        let scopes = credentials.signInScopes
        let namesAPI = connection.quirks.refusesResource || !credentials.resources.isEmpty
        guard scopes.isEmpty, connection.omitsResource(for: account), namesAPI, !credentials.scopes.isEmpty else {
            return scopes
        }
        let others = [Scope.offlineAccess] + (credentials.idToken == nil ? [] : [Scope.openID])
        let usual = connection.serviceAtHost?.scopes ?? []
        return credentials.scopes + others.filter { !credentials.scopes.contains($0) && usual.contains($0) }
    }

    /// - Parameter resources: The resources to name; `nil` for those of the sign-in.
    func prepare(
        _ form: FormBody, of account: Account, isRefresh: Bool, resources: [String]? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        let client = try clients.registeredClient(of: account)
        try clients.checkSecret(of: client, for: account)
        let usual = connection.omitsResource(for: account) ? [] : connection.resources(of: account)
        var exchange = try await clients.prepare(
            form, as: client, isRefresh: isRefresh, resources: resources ?? usual,
            at: account.credentials.tokenEndpoint, key: account.credentials.key)
        (exchange.issuer, exchange.owner) = (connection.issuer, account)
        exchange.registrations = clients.client.registrations
        return exchange
    }
}
