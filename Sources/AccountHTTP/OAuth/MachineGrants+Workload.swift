import AccountKit

/// The grants of a program that its platform identifies (RFC 7523, RFC 8693).
extension MachineGrants {
    /// Requests an access token for an assertion, and returns the account of the workload.
    ///
    /// - Returns: An account whose id is the client ID, or otherwise the `sub` of the assertion.
    func signIn(with assertions: WorkloadAssertions) async throws(AuthorityError) -> Account {
        let (clientID, source) = (clients.clientID, assertions.identity.source)
        let grant: WorkloadGrant
        if let chosen = assertions.identity.grant { grant = chosen } else { grant = try await offeredGrant() }
        if grant == .clientAssertion, clientID == nil {
            throw .misconfigured(
                "an assertion that authenticates a client requires a client ID (on a command line, --client-id ID)")
        }
        let assertion = try await assertions.newAssertion()
        let subject = WorkloadAssertions.subject(of: assertion)
        guard let id = clientID ?? subject else {
            throw .misconfigured(
                "the assertion does not name its subject, so the session requires a client ID (on a command line, "
                    + "--client-id ID)")
        }
        var machine = MachineGrant(
            type: grant.type, scopes: scopes.ofMachine, audience: connection.options.audience,
            workload: source.words)
        machine.assertionAudience = source.audience
        machine.subject = subject
        let client = clientID.map { RegisteredClient(id: $0) }
        var exchange = try await prepare(
            machine, with: assertion, from: assertions, of: subject, as: client, resources: connection.sentResources)
        (exchange.resources, exchange.omitsResource) = (connection.options.resources, connection.omitsResource)
        let credentials = try await exchange.exchange { true }.credentials
        return Account(id: id, issuer: connection.name, credentials: credentials, verifiedAt: credentials.issuedAt)
    }

    /// Prepares a request for another access token, with a new assertion.
    ///
    /// - Parameter source: The source in the archive. AccountKit uses only the source of this authority, because an
    ///   archive must not choose which program an app runs.
    func prepare(
        _ machine: MachineGrant, from source: [String], of account: Account
    ) async throws(AuthorityError) -> OAuthExchange {
        guard let assertions = clients.assertions else {
            throw .misconfigured(
                "the session of \(account.id) needs an assertion from its workload identity (\(source[0])), which this "
                    + "program does not use")
        }
        let client = account.credentials.clientID.map { RegisteredClient(id: $0) }
        let subject = client == nil ? account.id : machine.subject
        let assertion = try await assertions.newAssertion()
        var machine = machine
        // If the assertion of the sign-in named no subject, only assertions for this one renew the session from now on.
        machine.subject = subject ?? WorkloadAssertions.subject(of: assertion)
        return try await prepare(
            machine, with: assertion, from: assertions, of: subject, as: client,
            resources: connection.sentResources(of: account), at: account.credentials.tokenEndpoint)
    }

    /// - Parameter subject: The required subject of the assertion; `nil` if the session is not bound to a subject.
    private func prepare(
        _ machine: MachineGrant, with assertion: Secret, from assertions: WorkloadAssertions, of subject: String?,
        as client: RegisteredClient?, resources: [String], at stored: TokenEndpoint? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        try WorkloadAssertions.check(assertion, isFor: subject)
        guard let grant = WorkloadGrant(type: machine.type) else {
            throw .unknownGrant(signIn: "--workload SOURCE")
        }
        var form = FormBody()
        form.append("grant_type", machine.type)
        switch grant {
        case .clientAssertion: form.authenticate(with: assertion)
        case .jwtBearer: form.append("assertion", assertion)
        case .tokenExchange:
            form.append("subject_token", assertion)
            form.append("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
            form.append("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
        }
        return try await prepare(form, for: machine, as: client, resources: resources, at: stored) {
            () async throws(AuthorityError) in
            // The first endpoint may have consumed the first assertion.
            let assertion = try await assertions.newAssertion()
            return try await prepare(
                machine, with: assertion, from: assertions, of: subject, as: client, resources: resources)
        }
    }

    /// Returns the first grant that the metadata of the service lists. Without a client ID, a client assertion is not
    /// possible.
    private func offeredGrant() async throws(AuthorityError) -> WorkloadGrant {
        let documents = connection.documents
        let methods = try await documents.endpoint(.token)?.document.tokenAuthentication ?? []
        let authenticates = methods.contains("private_key_jwt")
        if authenticates, clients.clientID != nil { return .clientAssertion }
        for grant in [WorkloadGrant.jwtBearer, .tokenExchange] where try await documents.listsGrant(grant.type) {
            return grant
        }
        // Without a client ID, the error of this grant asks for one.
        if authenticates { return .clientAssertion }
        throw .misconfigured(
            "\(connection.name) does not say how it accepts the assertion of a workload: choose the grant (on a command "
                + "line, with --workload-grant client-assertion, jwt-bearer or token-exchange)")
    }
}
