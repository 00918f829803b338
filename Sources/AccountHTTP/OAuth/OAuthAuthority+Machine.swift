package import AccountKit

/// Sessions of a client without a user (RFC 6749, section 4.4).
extension OAuthAuthority {
    /// Requests an access token as the client, for the ``scopes``, or for those that the API named, and the audience and resources in the ``options``.
    ///
    /// - Returns: An account whose id is the client ID. It does not contain the client secret.
    package func signInAsClient() async throws(AuthorityError) -> Account {
        if let workload = client.workload { return try await signIn(as: workload) }
        guard let clientID else { throw notRegistered }
        let machine = MachineGrant(scopes: machineScopes, audience: options.audience, key: client.assertion?.keyFile)
        let client = try signInClient()
        let credentials = try await asSignInClient(client) { client throws(AuthorityError) in
            var exchange = try await prepareTokens(for: machine, as: client, resources: sentResources)
            (exchange.resources, exchange.omitsResource) = (options.resources, omitsResource)
            return try await exchange.exchange { true }.credentials
        }
        return Account(id: clientID, issuer: issuer, credentials: credentials, verifiedAt: credentials.issuedAt)
    }

    /// The scopes of a sign-in as the client, which has no user info and no refresh token.
    var machineScopes: [String] {
        guard let api else { return scopes }
        return scopes.filter { !api.tentativeScopes.contains($0) && $0 != Scope.offlineAccess }
    }

    /// Prepares a request for another access token: the request of the sign-in.
    func prepareTokens(
        for machine: MachineGrant, of account: Account
    ) async throws(AuthorityError) -> OAuthExchange {
        if let source = machine.workload {
            return try await prepareTokens(for: machine, from: source, of: account)
        }
        return try await prepareTokens(
            for: machine, as: try registeredClient(of: account), resources: sentResources(of: account),
            at: account.credentials.tokenEndpoint)
    }

    private func prepareTokens(
        for machine: MachineGrant, as client: RegisteredClient, resources: [String], at stored: TokenEndpoint? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        guard machine.type == MachineGrant.clientCredentials else {
            throw .misconfigured("this session requires a later version of AccountKit")
        }
        // Only a confidential client may use this grant.
        guard client.isConfidential else { throw missingSecret(of: client) }
        var form = FormBody()
        form.append("grant_type", machine.type)
        if !machine.scopes.isEmpty { form.append("scope", machine.scopes.joined(separator: " ")) }
        if let audience = machine.audience { form.append("audience", audience) }
        var exchange = try await prepareTokens(form, as: client, resources: resources, at: stored)
        exchange.scopes = machine.scopes
        (exchange.machine, exchange.issuer) = (machine, issuerIdentifier)
        exchange.toCurrentEndpoint = { () async throws(AuthorityError) in
            try await prepareTokens(for: machine, as: client, resources: resources)
        }
        return exchange
    }

    func missingSecret(of client: RegisteredClient?) -> AuthorityError {
        .misconfigured("\(MachineGrant.missingSecret) \(client?.id ?? ""), and AccountKit does not store it")
    }
}
