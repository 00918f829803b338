import AccountKit

/// The grants of a client without a user (RFC 6749, section 4.4).
struct MachineGrants: Sendable {
    let connection: ServiceConnection
    let clients: ServiceClients
    let scopes: ScopeChoice

    /// Requests an access token as the client, for the scopes of the authority, or for those that the API named, and the
    /// audience and resources in the options.
    ///
    /// - Returns: An account whose id is the client ID. It does not contain the client secret.
    func signIn() async throws(AuthorityError) -> Account {
        if let assertions = clients.assertions { return try await signIn(with: assertions) }
        guard let clientID = clients.clientID else { throw clients.notRegistered }
        let options = connection.options
        let machine = MachineGrant(
            scopes: scopes.ofMachine, audience: options.audience, key: clients.client.assertion?.keyFile)
        let client = try clients.signInClient()
        let credentials = try await clients.trying(client) { client throws(AuthorityError) in
            var exchange = try await prepare(machine, as: client, resources: connection.sentResources)
            (exchange.resources, exchange.omitsResource) = (options.resources, connection.omitsResource)
            return try await exchange.exchange { true }.credentials
        }
        return Account(
            id: clientID, issuer: connection.name, credentials: credentials, verifiedAt: credentials.issuedAt)
    }

    /// Prepares a request for another access token: the request of the sign-in.
    func prepare(_ machine: MachineGrant, of account: Account) async throws(AuthorityError) -> OAuthExchange {
        if let source = machine.workload { return try await prepare(machine, from: source, of: account) }
        return try await prepare(
            machine, as: try clients.registeredClient(of: account), resources: connection.sentResources(of: account),
            at: account.credentials.tokenEndpoint)
    }

    private func prepare(
        _ machine: MachineGrant, as client: RegisteredClient, resources: [String], at stored: TokenEndpoint? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        guard machine.type == MachineGrant.clientCredentials else {
            throw .unknownGrant(signIn: "--client-credentials")
        }
        // Only a confidential client may use this grant.
        guard client.isConfidential else { throw clients.missingSecret(of: client) }
        var form = FormBody()
        form.append("grant_type", machine.type)
        return try await prepare(form, for: machine, as: client, resources: resources, at: stored) {
            () async throws(AuthorityError) in
            try await prepare(machine, as: client, resources: resources)
        }
    }

    /// Prepares a request of the session, which renews the session too.
    ///
    /// - Parameters:
    ///   - resources: The resources to name in the request.
    ///   - stored: The token endpoint in the account; `nil` at a sign-in.
    func prepare(
        _ form: FormBody, for machine: MachineGrant, as client: RegisteredClient?, resources: [String],
        at stored: TokenEndpoint?,
        toCurrentEndpoint again: @escaping @Sendable () async throws(AuthorityError) -> OAuthExchange
    ) async throws(AuthorityError) -> OAuthExchange {
        var form = form
        if !machine.scopes.isEmpty { form.append("scope", machine.scopes.joined(separator: " ")) }
        if let audience = machine.audience { form.append("audience", audience) }
        var exchange = try await clients.prepare(form, as: client, resources: resources, at: stored)
        exchange.scopes = machine.scopes
        (exchange.machine, exchange.issuer) = (machine, connection.issuer)
        exchange.toCurrentEndpoint = again
        return exchange
    }
}

extension AuthorityError {
    /// The error for the session of a later version. `options` are those of `login` for another sign-in.
    static func unknownGrant(signIn options: String) -> AuthorityError {
        .misconfigured(
            "this version does not support the grant of this session: update this program, or sign in again (on a command line, "
                + "with `login \(options)`)")
    }
}
