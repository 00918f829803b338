import AccountKit
import AccountCrypto
import AccountSupport

extension OAuthAuthority {
    var quirks: ServiceQuirks { serviceAtHost?.quirks ?? .standard }

    func signInClient() throws(AuthorityError) -> RegisteredClient {
        guard let clientID else { throw notRegistered }
        return RegisteredClient(
            id: clientID, secret: clientSecret, assertion: client.assertion,
            authentication: learned.form ?? options.clientAuthentication.map { SecretForm($0) })
    }

    /// Tries the other forms of client authentication if the service rejects the client, because services often list both
    /// methods but accept only the registered one, and some do not decode the `Authorization` header.
    func asSignInClient<Value: Sendable>(
        _ client: RegisteredClient, _ body: (RegisteredClient) async throws(AuthorityError) -> Value
    ) async throws(AuthorityError) -> Value {
        do throws(AuthorityError) {
            return try await body(client)
        } catch {
            guard case .oauthError(.invalidClient, _) = error else { throw error }
            for other in try await alternatives(to: client) {
                do throws(AuthorityError) {
                    let value = try await body(other)
                    learned.form = other.authentication
                    return value
                } catch let second {
                    if case .oauthError(.invalidClient, _) = second { continue }
                    // Any other OAuth error means that the service recognizes the client.
                    if case .oauthError = second { learned.form = other.authentication }
                    throw second
                }
            }
            throw error
        }
    }

    /// - Parameter key: The key that an earlier request of the sign-in proved; `nil` for a new key, if tokens are bound.
    func requestSignInTokens(
        _ form: FormBody, as chosen: SignInClient, key: ProofKey? = nil
    ) async throws(AuthorityError) -> (credentials: Credentials, response: ServiceResponse) {
        let key = if let key { key } else { try newKey() }
        do throws(AuthorityError) {
            return try await asSignInClient(chosen.client) { client throws(AuthorityError) in
                var exchange = try await prepareTokens(form, as: client, key: key)
                (exchange.resources, exchange.omitsResource) = (options.resources, omitsResource)
                if api != nil { exchange.scopes = try await requestedScopes() }
                return try await exchange.exchange { true }
            }
        } catch {
            // A code belongs to the client that requested it, so only the next sign-in can use another one.
            if case .oauthError(.invalidClient, _) = error, chosen.isRegistration {
                registrationState.noteRejection(of: chosen.client.id)
            }
            throw error
        }
    }

    /// Returns a key for a new session; `nil` if its tokens are not bound.
    func newKey() throws(AuthorityError) -> ProofKey? { options.bindsTokens ? try ProofKey.random() : nil }

    private func alternatives(to client: RegisteredClient) async throws(AuthorityError) -> [RegisteredClient] {
        guard let secret = client.secret else { return [] }
        let methods = try await documents.endpoint(.token)?.document.tokenAuthentication
        let first =
            client.authentication?.method ?? quirks.clientAuthentication ?? ClientAuthentication(supportedBy: methods)
        var forms: [SecretForm] = []
        if client.authentication == nil, quirks.clientAuthentication == nil,
            let other = first?.alternative(supportedBy: methods)
        {
            forms.append(SecretForm(other))
        }
        if first == .basic, client.authentication?.isPlain != true, Self.isPlainDifferent(client.id, secret) {
            forms.append(SecretForm(.basic, isPlain: true))
        }
        return forms.map { form in
            var client = client
            client.authentication = form
            return client
        }
    }

    /// Returns the client to which the service issued the tokens. AccountKit sends a secret only to its service, and
    /// only with its client ID.
    func client(of credentials: Credentials) -> RegisteredClient? {
        guard let id = credentials.clientID ?? clientID else { return nil }
        let stored = credentials.clientAuthentication.flatMap { SecretForm(name: $0) }
        let chosen = options.clientAuthentication
        let method = chosen == nil || stored?.method == chosen ? stored : chosen.map { SecretForm($0) }
        if let machine = credentials.machine, machine.workload != nil {
            return workloadClient(id, of: machine)
        }
        if id == clientID, clientSecret != nil || client.assertion != nil {
            return RegisteredClient(
                id: id, secret: clientSecret, assertion: client.assertion, authentication: method)
        }
        guard case .secret(let secret) = credentials.clientSecret else { return RegisteredClient(id: id) }
        return RegisteredClient(id: id, secret: secret, authentication: method)
    }

    func registeredClient(of account: Account) throws(AuthorityError) -> RegisteredClient {
        guard let client = client(of: account.credentials) else { throw notRegistered }
        return client
    }

    var notRegistered: AuthorityError {
        let place = service.map { " at \($0.registrationPage)" } ?? ""
        return .misconfigured(
            "\(service?.title ?? issuer) requires a client ID: register an app\(place), and pass its client ID "
                + "(on a command line, with --client-id ID)")
    }

    /// Whether the requests of a sign-in leave out the parameter `resource` (RFC 8707).
    var omitsResource: Bool { options.omitsResource || quirks.refusesResource }

    /// The entry of the service, also for an issuer at its host that has no entry of its own, such as a tenant.
    var serviceAtHost: KnownService? { service ?? KnownService.at(issuerIdentifier) }

    /// The resources that the requests of a sign-in name.
    var sentResources: [String] { omitsResource ? [] : options.resources }

    /// Returns whether requests for the tokens of an account leave out the parameter `resource`.
    func omitsResource(for account: Account) -> Bool { account.credentials.omitsResource || omitsResource }

    /// Adds the API of a sign-in to its first request.
    func appendTarget(to form: inout FormBody) {
        if let audience = options.audience { form.append("audience", audience) }
        for resource in sentResources { form.append("resource", resource) }
    }

    /// Returns the scopes of a sign-in. If the app chose no scopes and the service lists `offline_access`, they include
    /// it to obtain a refresh token.
    ///
    /// If the service lists its scopes without `openid`, it does not identify users with OpenID Connect, so the scopes that
    /// AccountKit chose for this are left out. Scopes that the app or the user chose stay.
    func requestedScopes() async throws(AuthorityError) -> [String] {
        var scopes = try await api?.limited(self.scopes, documents) ?? self.scopes
        if scopes.contains(Scope.openID),
            let listed = try await documents.scopes(), !listed.contains(Scope.openID)
        {
            scopes.removeAll {
                Scope.ofOpenID.contains($0) && !listed.contains($0) && !chosenScopes.contains($0)
            }
        }
        guard asksForOfflineAccess, !scopes.contains(Scope.offlineAccess),
            try await documents.scopes()?.contains(Scope.offlineAccess) == true
        else { return scopes }
        return scopes + [Scope.offlineAccess]
    }

    /// Creates a request that authenticates the client (RFC 6749, section 2.3.1). `methods` is `nil` if the endpoint's
    /// document does not list any.
    func request(
        _ form: FormBody, to endpoint: Endpoint, as client: RegisteredClient?, authentication methods: [String]?
    ) async throws(AuthorityError) -> ServiceRequest {
        guard let client else { return ServiceRequest(url: endpoint.url, form: form) }
        var form = form
        // Some services require `client_id` even if the `Authorization` header is present, and RFC 6749, section 3.2.1,
        // allows it.
        form.append("client_id", client.id)
        if let source = client.workload {
            try await authenticate(&form, with: source, of: client.subject)
            return ServiceRequest(url: endpoint.url, form: form)
        }
        if let source = client.assertion {
            form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            form.append("client_assertion", try await source.assertion(for: client.id, audience: issuer, at: clock.now))
            return ServiceRequest(url: endpoint.url, form: form)
        }
        guard let clientSecret = client.secret else { return ServiceRequest(url: endpoint.url, form: form) }
        let way = try authentication(of: client, supportedBy: methods)
        switch way.method {
        case .post:
            form.append("client_secret", clientSecret)
            return ServiceRequest(url: endpoint.url, form: form)
        case .basic:
            var request = ServiceRequest(url: endpoint.url, form: form)
            let pair = Self.basicCredentials(client.id, clientSecret, isPlain: way.isPlain)
            request.authorization = .basic(pair)
            request.secrets += [pair, clientSecret]
            return request
        }
    }

    private func authentication(
        of client: RegisteredClient, supportedBy methods: [String]?
    ) throws(AuthorityError) -> SecretForm {
        if let form = client.authentication { return form }
        if let method = quirks.clientAuthentication ?? .init(supportedBy: methods) { return SecretForm(method) }
        throw .misconfigured("\(issuer) does not accept a client secret: remove it")
    }

    private static func basicCredentials(_ clientID: String, _ clientSecret: Secret, isPlain: Bool) -> Secret {
        func append(_ value: some Collection<UInt8>, to text: inout WipedBytes) {
            if isPlain { text.append(contentsOf: value) } else { FormBody.encode(value, keeping: "~", into: &text) }
        }
        var text = WipedBytes()
        append(clientID.utf8, to: &text)
        text.append(UInt8(ascii: ":"))
        clientSecret.withUnsafeBytes { append($0, to: &text) }
        return Secret(text.base64)
    }

    /// Whether the plain form of a client is possible and differs from the encoded form. A plain client ID must not contain a
    /// colon (RFC 7617, section 2).
    private static func isPlainDifferent(_ clientID: String, _ clientSecret: Secret) -> Bool {
        !clientID.utf8.contains(UInt8(ascii: ":"))
            && basicCredentials(clientID, clientSecret, isPlain: true)
                != basicCredentials(clientID, clientSecret, isPlain: false)
    }

    /// Prepares a grant (RFC 6749, section 5). If `resources` is `nil`, the request contains the resources of the sign-in
    /// (RFC 8707, section 2.2).
    ///
    /// If the documents were not read yet, the request goes to the `stored` endpoint while it is fresh. If the
    /// connection to this endpoint fails, the service may have moved it, so this function reads the documents.
    func prepareTokens(
        _ form: FormBody, as client: RegisteredClient?, isRefresh: Bool = false, resources: [String]? = nil,
        at stored: TokenEndpoint? = nil, key: ProofKey? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        var form = form
        for resource in resources ?? sentResources { form.append("resource", resource) }
        if let stored, !documents.isKnown, let endpoint = discovery.endpoint(stored, at: clock.now) {
            do throws(AuthorityError) {
                // Leave time for discovery.
                var exchange = try await prepareTokens(
                    form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout / 2, key)
                exchange.isAtCurrentEndpoint = { [documents] in
                    // If the documents cannot be read, the endpoint is unknown.
                    (try? await documents.endpoint(.token))?.url == endpoint.url
                }
                return exchange
            } catch {
                guard error.mayMeanMoved else { throw error }
            }
        }
        let endpoint: Endpoint
        do throws(AuthorityError) {
            guard let named = try await documents.endpoint(.token) else {
                throw documents.flaw(of: .token) ?? discovery.namesNoToken
            }
            endpoint = named
        } catch {
            throw error.notSent(at: .preparation)
        }
        return try await prepareTokens(form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout, key)
    }

    private func prepareTokens(
        _ form: FormBody, as client: RegisteredClient?, isRefresh: Bool, to endpoint: Endpoint,
        within timeout: Duration, _ key: ProofKey?
    ) async throws(AuthorityError) -> OAuthExchange {
        var request = try await request(
            form, to: endpoint, as: client, authentication: endpoint.document.tokenAuthentication)
        request.tokenRequestTimeout = tokenRequestTimeout
        request.key = key
        if isRefresh, key != nil, quirks.mayRefuseSpentToken { try await obtainNonce(for: request, as: client) }
        var exchange = OAuthExchange(
            request: try await transport.prepare(request, timeout: timeout, clock: clock, logger: logger),
            parser: ResponseParser(
                .token, sent: request.secrets, quirks: quirks, isRefresh: isRefresh, isProved: key != nil),
            client: client, endpoint: endpoint.stored)
        guard let key else { return exchange }
        exchange.key = key
        exchange.withNewProof = { () async throws(AuthorityError) in
            try await prepareTokens(form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout, key)
        }
        return exchange
    }

    /// Obtains a nonce with a request that contains no token, because the service may spend a refresh token although it refuses
    /// the nonce. Every response has a nonce (RFC 9449, section 8.2), so the error in this one does not matter.
    private func obtainNonce(
        for refresh: ServiceRequest, as client: RegisteredClient?
    ) async throws(AuthorityError) {
        guard !transport.nonces.hasNonce(for: refresh) else { return }
        var form = FormBody()
        form.append("grant_type", "refresh_token")
        if let client { form.append("client_id", client.id) }
        var request = ServiceRequest(url: refresh.url, form: form)
        (request.key, request.isForNonceOnly) = (refresh.key, true)
        do throws(AuthorityError) {
            // The transport remembers the nonce.
            _ = try await send(request)
        } catch {
            throw error.notSent(at: .preparation)
        }
    }

    func userInfo(
        with credentials: Credentials
    ) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard let url = try await documents.endpoint(.userInfo)?.url else {
            throw documents.flaw(of: .userInfo) ?? .misconfigured(noUserInfo)
        }
        return try await userInfo(with: credentials, at: url)
    }

    var noUserInfo: String { "\(issuer) has no user info endpoint, so it cannot identify the user of a token" }

    func userInfo(
        with credentials: Credentials, at url: ServiceURL
    ) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard credentials.accessToken.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .unclear("the stored token contains characters that cannot be sent")
        }
        var request = ServiceRequest(url: url)
        try request.authorize(with: credentials)
        let response = try await send(request)
        let parser = ResponseParser(
            .userInfo, sent: request.secrets + credentials.tokens, quirks: quirks, isProved: credentials.requiresProof)
        return (try parser.identity(in: response, from: issuerIdentifier, for: clientID), response)
    }

    func send(_ request: ServiceRequest) async throws(AuthorityError) -> ServiceResponse {
        try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
    }

    /// Throws an error if the account belongs to another service, because AccountKit sends a token only to the service
    /// that issued it.
    func checkIssuer(of account: Account) throws(AuthorityError) {
        guard let other = account.issuer else {
            throw .misconfigured("the account does not name its service, so its token is not sent to \(issuer)")
        }
        guard issuerIdentifier.isSame(as: other) else {
            throw .misconfigured("the account belongs to \(other), so its token is not sent to \(issuer)")
        }
    }
}

extension AuthorityError {
    /// Whether a server responded, and did not merely report that it is overloaded or being repaired.
    var isResponse: Bool {
        switch self {
        case .noResponse, .untrustedTLS, .notSent, .unavailable: false
        default: true
        }
    }

    /// Whether there was no response.
    var isMissing: Bool {
        switch self {
        case .noResponse, .untrustedTLS, .notSent, .proxyAuthenticationRequired: true
        default: false
        }
    }

    /// Whether the service may respond differently soon.
    var isTemporary: Bool {
        switch self {
        case .noResponse, .notSent, .unavailable: true
        default: false
        }
    }

    /// Whether the name or the port of the host is no longer in use, or belongs to another owner.
    var isAboutHost: Bool {
        switch self {
        case .noResponse(.unknownHost), .noResponse(.refused), .untrustedTLS: true
        default: false
        }
    }

    /// Whether a failure before the request was sent may mean that the service has moved the endpoint.
    fileprivate var mayMeanMoved: Bool {
        switch self {
        case .noResponse(.unknownHost), .noResponse(.refused), .noResponse(.unreachable), .noResponse(.reset),
            .noResponse(.timeout), .untrustedTLS, .notSent:
            true
        default: false
        }
    }
}
