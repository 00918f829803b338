package import AccountKit
import AccountSupport
package import Logging

/// Sessions of a program that its platform identifies (RFC 7521).
extension OAuthAuthority {
    /// Creates an authority for the workload identity of this program; see ``MachineAuthority``.
    package init(
        issuer: String, clientID: String?, workload: WorkloadSource, grant: WorkloadGrant? = nil,
        scopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(), endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        var client = OAuthClient(identifier: clientID)
        client.workload = try WorkloadIdentity(source: workload, grant: grant)
        let named = try Issuer(issuer)
        let service = KnownService.at(named)
        try self.init(
            Issuer(named.url, form: service?.quirks.issuerForm ?? .exact), client: client, scopes: scopes,
            additionalScopes: [], options: options, service: service, endpoints: endpoints, timeout: timeout,
            tokenRequestTimeout: tokenRequestTimeout, clock: clock, logger: logger)
    }

    /// Requests an access token for an assertion, and returns the account of the workload.
    ///
    /// - Returns: An account whose id is the client ID, or otherwise the `sub` of the assertion.
    func signIn(as workload: WorkloadIdentity) async throws(AuthorityError) -> Account {
        let grant: WorkloadGrant
        if let chosen = workload.grant { grant = chosen } else { grant = try await offeredGrant() }
        if grant == .clientAssertion, clientID == nil {
            throw .misconfigured(
                "an assertion that authenticates a client requires a client ID (on a command line, --client-id ID)")
        }
        let scopes = machineScopes
        let assertion = try await assertion(from: workload.source)
        let subject = Self.subject(of: assertion)
        guard let id = clientID ?? subject else {
            throw .misconfigured(
                "the assertion does not name its subject, so the session requires a client ID (on a command line, "
                    + "--client-id ID)")
        }
        var machine = MachineGrant(
            type: grant.type, scopes: scopes, audience: options.audience, workload: workload.source.words)
        machine.assertionAudience = workload.source.audience
        machine.subject = subject
        let client = clientID.map { RegisteredClient(id: $0) }
        var exchange = try await prepareTokens(
            for: machine, with: assertion, of: subject, as: client, resources: sentResources)
        (exchange.resources, exchange.omitsResource) = (options.resources, omitsResource)
        let credentials = try await exchange.exchange { true }.credentials
        return Account(id: id, issuer: issuer, credentials: credentials, verifiedAt: credentials.issuedAt)
    }

    /// Prepares a request for another access token, with a new assertion.
    ///
    /// - Parameter source: The source in the archive. AccountKit uses only the source of this authority, because an
    ///   archive must not choose which program an app runs.
    func prepareTokens(
        for machine: MachineGrant, from source: [String], of account: Account
    ) async throws(AuthorityError) -> OAuthExchange {
        guard let workload = client.workload else {
            throw .misconfigured(
                "the session of \(account.id) needs an assertion from its workload identity (\(source[0])), which this "
                    + "program does not use")
        }
        let client = account.credentials.clientID.map { RegisteredClient(id: $0) }
        let resources = omitsResource(for: account) ? [] : account.credentials.resources
        let subject = client == nil ? account.id : machine.subject
        let assertion = try await assertion(from: workload.source)
        var machine = machine
        // If the assertion of the sign-in named no subject, only assertions for this one renew the session from now on.
        machine.subject = subject ?? Self.subject(of: assertion)
        return try await prepareTokens(
            for: machine, with: assertion, of: subject, as: client, resources: resources,
            at: account.credentials.tokenEndpoint)
    }

    /// Throws an error if an assertion is not for the subject that a session is bound to.
    private static func check(_ assertion: Secret, isFor subject: String?) throws(AuthorityError) {
        guard let subject, self.subject(of: assertion) != subject else { return }
        throw .misconfigured(
            "the assertion is for \(self.subject(of: assertion) ?? "an unknown subject"), and the session belongs to "
                + "\(subject): use another session, or sign in again")
    }

    /// - Parameter subject: The required subject of the assertion; `nil` if the session is not bound to a subject.
    private func prepareTokens(
        for machine: MachineGrant, with assertion: Secret, of subject: String?, as client: RegisteredClient?,
        resources: [String], at stored: TokenEndpoint? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        try Self.check(assertion, isFor: subject)
        guard let grant = WorkloadGrant(type: machine.type) else {
            throw .misconfigured("this session requires a later version of AccountKit")
        }
        var form = FormBody()
        form.append("grant_type", machine.type)
        switch grant {
        case .clientAssertion: Self.authenticate(&form, with: assertion)
        case .jwtBearer: form.append("assertion", assertion)
        case .tokenExchange:
            form.append("subject_token", assertion)
            form.append("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
            form.append("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
        }
        if !machine.scopes.isEmpty { form.append("scope", machine.scopes.joined(separator: " ")) }
        if let audience = machine.audience { form.append("audience", audience) }
        var exchange = try await prepareTokens(form, as: client, resources: resources, at: stored)
        exchange.scopes = machine.scopes
        (exchange.machine, exchange.issuer) = (machine, issuerIdentifier)
        exchange.toCurrentEndpoint = { () async throws(AuthorityError) in
            guard let source = self.client.workload?.source else { throw notRegistered }
            // The first endpoint may have consumed the first assertion.
            let assertion = try await self.assertion(from: source)
            return try await prepareTokens(
                for: machine, with: assertion, of: subject, as: client, resources: resources)
        }
        return exchange
    }

    /// Returns the client of a workload, for requests other than token requests.
    func workloadClient(_ id: String, of machine: MachineGrant) -> RegisteredClient {
        guard machine.type == WorkloadGrant.clientAssertion.type else { return RegisteredClient(id: id) }
        return RegisteredClient(id: id, workload: client.workload?.source, subject: machine.subject)
    }

    /// Adds a new client assertion to a form.
    func authenticate(
        _ form: inout FormBody, with source: WorkloadSource, of subject: String?
    ) async throws(AuthorityError) {
        let assertion = try await assertion(from: source)
        try Self.check(assertion, isFor: subject)
        Self.authenticate(&form, with: assertion)
    }

    private static func authenticate(_ form: inout FormBody, with assertion: Secret) {
        form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        form.append("client_assertion", assertion)
    }

    private func assertion(from source: WorkloadSource) async throws(AuthorityError) -> Secret {
        let assertion = try await source.assertion(for: source.audience ?? issuer, timeout: timeout) {
            request async throws(AuthorityError) in
            try await send(request)
        }
        try await checkAudience(of: assertion, expecting: source.audience)
        return assertion
    }

    package func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError? {
        guard let source = client.workload?.source else { return nil }
        if isQuick, case .command = source.kind { return nil }
        do throws(AuthorityError) {
            _ = try await source.assertion(for: source.audience ?? issuer, timeout: timeout) {
                request async throws(AuthorityError) in
                guard !isQuick else { throw .noResponse(.cancelled) }
                return try await send(request)
            }
            return nil
        } catch {
            return error == .noResponse(.cancelled) ? nil : error
        }
    }

    /// Returns the `sub` of an assertion, without a check of its signature; `nil` if the assertion is opaque.
    private static func subject(of assertion: Secret) -> String? {
        guard let subject = JSONWebToken(assertion)?.claims["sub"]?.string, !subject.isEmpty else { return nil }
        return subject
    }

    /// Returns the first grant that the metadata of the service lists. Without a client ID, a client assertion is not
    /// possible.
    private func offeredGrant() async throws(AuthorityError) -> WorkloadGrant {
        let methods = try await documents.endpoint(.token)?.document.tokenAuthentication ?? []
        let authenticates = methods.contains("private_key_jwt")
        if authenticates, clientID != nil { return .clientAssertion }
        for grant in [WorkloadGrant.jwtBearer, .tokenExchange] where try await documents.listsGrant(grant.type) {
            return grant
        }
        // Without a client ID, the error of this grant asks for one.
        if authenticates { return .clientAssertion }
        throw .misconfigured(
            "\(issuer) does not say how it accepts the assertion of a workload: choose the grant (on a command line, with "
                + "--workload-grant client-assertion, jwt-bearer or token-exchange)")
    }
}
