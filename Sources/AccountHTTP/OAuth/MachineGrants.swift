import AccountKit

/// The grants of a client without a user (RFC 6749, section 4.4).
struct MachineGrants: Sendable {
    let connection: ServiceConnection
    let clients: ClientAuthenticator
    let scopes: ScopeChoice
    let tokens: TokenRequests
    let workload: WorkloadGrants

    init(tokens: TokenRequests, scopes: ScopeChoice) {
        (connection, clients) = (tokens.connection, tokens.clients)
        (self.tokens, self.scopes) = (tokens, scopes)
        workload = WorkloadGrants(connection: connection, clients: clients, scopes: scopes, tokens: tokens)
    }

    /// Requests an access token as the client, for the scopes of the authority, or for those that the API named, and the
    /// audience and resources in the options.
    ///
    /// - Returns: An account whose id is the client ID. It does not contain the client secret.
    func signIn() async throws(AuthorityError) -> Account {
        if let identity = clients.client.workload { return try await workload.signIn(as: identity) }
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
        if let source = machine.workload { return try await workload.prepare(machine, from: source, of: account) }
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
        return try await tokens.prepare(form, for: machine, as: client, resources: resources, at: stored) {
            () async throws(AuthorityError) in
            try await prepare(machine, as: client, resources: resources)
        }
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
