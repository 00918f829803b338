import AccountKit

/// The grants of a user's sign-in.
struct SignInGrants: Sendable {
    let connection: ServiceConnection
    let clients: ServiceClients
    let registrar: ClientRegistrar
    let scopes: ScopeChoice
    let users: SignInUser

    /// Requests the tokens of a sign-in.
    ///
    /// - Parameter key: The key that an earlier request of the sign-in proved; `nil` for a new key, if tokens are bound.
    func requestTokens(
        _ form: FormBody, as chosen: RegisteredClient, key: ProofKey? = nil
    ) async throws(AuthorityError) -> (credentials: Credentials, response: ServiceResponse) {
        let key = if let key { key } else { try newKey() }
        return try await notingRejection(of: chosen) { client throws(AuthorityError) in
            var exchange = try await clients.prepare(form, as: client, key: key)
            (exchange.resources, exchange.omitsResource) = (connection.options.resources, connection.omitsResource)
            if connection.api != nil { exchange.scopes = try await scopes.requested() }
            return try await exchange.exchange { true }
        }
    }

    /// Returns a key for a new session; `nil` if its tokens are not bound.
    func newKey() throws(AuthorityError) -> ProofKey? {
        connection.options.bindsTokens ? try ProofKey.random() : nil
    }

    /// Runs `body` as the client of a sign-in. If the service does not know a registration, the next sign-in registers the
    /// app again: a code belongs to the client that requested it, so this one cannot.
    func notingRejection<Value: Sendable>(
        of chosen: RegisteredClient, _ body: (RegisteredClient) async throws(AuthorityError) -> Value
    ) async throws(AuthorityError) -> Value {
        do throws(AuthorityError) {
            return try await clients.trying(chosen, body)
        } catch {
            if case .oauthError("invalid_client", _) = error, chosen.use != nil {
                registrar.state.noteRejection(of: chosen.id)
            }
            throw error
        }
    }

    // MARK: With a password (RFC 6749, section 4.3)

    func signIn(username: String, password: Secret) async throws -> Account {
        let scopes = try await scopes.requested()
        let credentials = try await registrar.registeringAgain(
            for: scopes, grant: GrantType.password
        ) { chosen throws(AuthorityError) in
            var form = FormBody()
            form.append("grant_type", GrantType.password)
            form.append("username", username)
            form.append("password", password)
            if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
            if let audience = connection.options.audience { form.append("audience", audience) }
            return try await requestTokens(form, as: chosen).credentials
        }
        do {
            return try await users.account(with: credentials, signedInAs: username)
        } catch {
            var unused = AccountError(unused: credentials, because: error, await clients.revoked(credentials))
            unused.cause = error
            throw unused
        }
    }

    /// Throws an error if a sign-in with a password is not possible.
    func preparePasswordSignIn() async throws(AuthorityError) {
        guard try await connection.documents.endpoint(.token) != nil else {
            throw connection.documents.flaw(of: .token) ?? connection.discovery.namesNoToken
        }
        if try await registrar.requiresClientID() { throw clients.notRegistered }
    }

    // MARK: On another device (RFC 8628)

    func beginDeviceSignIn() async throws -> DeviceAuthorization {
        let documents = connection.documents
        guard let endpoint = try await documents.endpoint(.deviceAuthorization) else {
            throw documents.flaw(of: .deviceAuthorization)
                ?? AuthorityError.misconfigured(
                    "\(connection.name) does not support sign-in on another device; sign in with a browser (on a command "
                        + "line, with --web, or with --paste for a browser on another machine) or with a password "
                        + "(--password)")
        }
        // Unlike a browser, a device brings no response that names its issuer, even if the metadata promises it.
        try connection.discovery.checkServer(of: endpoint.url, .deviceAuthorization)
        if let token = try await documents.endpoint(.token) {
            try connection.discovery.checkServer(of: token.url, .token)
        }
        let scopes = try await scopes.requested()
        let form = deviceForm(scopes)
        return try await registrar.registeringAgain(
            for: scopes, grant: GrantType.deviceCode
        ) { chosen throws(AuthorityError) in
            try await clients.trying(chosen) { client throws(AuthorityError) in
                let request = try await clients.request(
                    form, to: endpoint, as: client, authentication: endpoint.document.tokenAuthentication)
                let parser = ResponseParser(.deviceAuthorization, sent: request.secrets, quirks: connection.quirks)
                var authorization = try parser.deviceAuthorization(in: try await connection.send(request))
                authorization.state = .init(chosen)
                return authorization
            }
        }
    }

    private func deviceForm(_ scopes: [String]) -> FormBody {
        let options = connection.options
        var form = FormBody()
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        if let audience = options.audience { form.append("audience", audience) }
        for resource in connection.sentResources { form.append("resource", resource) }
        for (name, value) in options.sortedParameters { form.append(name, value) }
        return form
    }

    func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws(AuthorityError) -> Credentials {
        var form = FormBody()
        form.append("grant_type", GrantType.deviceCode)
        form.append("device_code", authorization.deviceCode)
        let begun = authorization.state?.value as? RegisteredClient
        let chosen = if let begun { begun } else { try clients.signInClient() }
        return try await requestTokens(form, as: chosen).credentials
    }
}
