import AccountKit

/// The clients of one service, that of the app and those to which the service issued tokens: how they authenticate, and
/// their requests.
struct ServiceClients: Sendable {
    let connection: ServiceConnection
    let client: OAuthClient

    /// The assertions of the program's platform; `nil` if it uses none.
    let assertions: WorkloadAssertions?

    /// The form that worked after the service rejected the first one, for all copies of the value.
    let learned = LearnedAuthentication()

    init(of client: OAuthClient, at connection: ServiceConnection) {
        self.connection = connection
        self.client = client
        assertions = client.workload.map { WorkloadAssertions(connection: connection, identity: $0) }
    }

    /// The client ID of the app at the service (RFC 6749, section 2.2), or `nil` if the app is not registered.
    var clientID: String? { client.identifier }

    // MARK: Clients

    /// Returns the client that the app or the user registered.
    func signInClient() throws(AuthorityError) -> RegisteredClient {
        guard let clientID else { throw notRegistered }
        return RegisteredClient(
            id: clientID, secret: client.secret, assertion: client.assertion,
            authentication: learned.form ?? connection.options.clientAuthentication.map { SecretForm($0) })
    }

    /// Returns the client to which the service issued the tokens. AccountKit sends a secret only to its service, and
    /// only with its client ID.
    func client(of credentials: Credentials) -> RegisteredClient? {
        guard let id = credentials.clientID ?? clientID else { return nil }
        let stored = credentials.clientAuthentication.flatMap { SecretForm(name: $0) }
        let chosen = connection.options.clientAuthentication
        let method = chosen == nil || stored?.method == chosen ? stored : chosen.map { SecretForm($0) }
        if let machine = credentials.machine, machine.workload != nil {
            return workloadClient(id, of: machine)
        }
        if id == clientID, client.secret != nil || client.assertion != nil {
            return RegisteredClient(id: id, secret: client.secret, assertion: client.assertion, authentication: method)
        }
        guard case .secret(let secret) = credentials.clientSecret else { return RegisteredClient(id: id) }
        return RegisteredClient(id: id, secret: secret, authentication: method)
    }

    func registeredClient(of account: Account) throws(AuthorityError) -> RegisteredClient {
        guard let client = client(of: account.credentials) else { throw notRegistered }
        return client
    }

    /// Returns the client of a workload, for requests other than token requests.
    private func workloadClient(_ id: String, of machine: MachineGrant) -> RegisteredClient {
        guard machine.type == WorkloadGrant.clientAssertion.type else { return RegisteredClient(id: id) }
        var assertions = assertions
        assertions?.subject = machine.subject
        return RegisteredClient(id: id, assertion: assertions)
    }

    var notRegistered: AuthorityError {
        let place = connection.known.map { " at \($0.registrationPage)" } ?? ""
        return .misconfigured(
            "\(connection.known?.title ?? connection.name) requires a client ID: register an app\(place), and pass its "
                + "client ID (on a command line, with --client-id ID)")
    }

    /// Throws an error if the requests for an account need a client secret that this program does not have.
    func checkSecret(of client: RegisteredClient?, for account: Account) throws(AuthorityError) {
        guard let machine = account.credentials.machine, machine.workload == nil, client?.isConfidential != true
        else { return }
        throw missingSecret(of: client)
    }

    func missingSecret(of client: RegisteredClient?) -> AuthorityError {
        .misconfigured("\(MachineGrant.missingSecret) \(client?.id ?? ""), and AccountKit does not store it")
    }

    // MARK: Requests

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
        if let source = client.assertion {
            form.authenticate(
                with: try await source.assertion(
                    for: client.id, audience: connection.name, at: connection.clock.now))
            return ServiceRequest(url: endpoint.url, form: form)
        }
        guard let secret = client.secret else { return ServiceRequest(url: endpoint.url, form: form) }
        let way = try secretForm(of: client, supportedBy: methods)
        switch way.method {
        case .post:
            form.append("client_secret", secret)
            return ServiceRequest(url: endpoint.url, form: form)
        case .basic:
            var request = ServiceRequest(url: endpoint.url, form: form)
            let pair = way.basicCredentials(client.id, secret)
            request.authorization = .basic(pair)
            request.secrets += [pair, secret]
            return request
        }
    }

    private func secretForm(
        of client: RegisteredClient, supportedBy methods: [String]?
    ) throws(AuthorityError) -> SecretForm {
        if let form = client.authentication { return form }
        if let method = connection.quirks.clientAuthentication ?? .init(supportedBy: methods) {
            return SecretForm(method)
        }
        throw .misconfigured("\(connection.name) does not accept a client secret: remove it")
    }

    /// Tries the other forms of client authentication if the service rejects the client, because services often list both
    /// methods but accept only the registered one, and some do not decode the `Authorization` header.
    func trying<Value: Sendable>(
        _ client: RegisteredClient, _ body: (RegisteredClient) async throws(AuthorityError) -> Value
    ) async throws(AuthorityError) -> Value {
        do throws(AuthorityError) {
            return try await body(client)
        } catch {
            guard case .oauthError("invalid_client", _) = error else { throw error }
            for other in try await alternatives(to: client) {
                do throws(AuthorityError) {
                    let value = try await body(other)
                    learned.form = other.authentication
                    return value
                } catch let second {
                    if case .oauthError("invalid_client", _) = second { continue }
                    // Any other OAuth error means that the service recognizes the client.
                    if case .oauthError = second { learned.form = other.authentication }
                    throw second
                }
            }
            throw error
        }
    }

    private func alternatives(to client: RegisteredClient) async throws(AuthorityError) -> [RegisteredClient] {
        guard let secret = client.secret else { return [] }
        let methods = try await connection.documents.endpoint(.token)?.document.tokenAuthentication
        let usual = connection.quirks.clientAuthentication
        let first = client.authentication?.method ?? usual ?? ClientAuthentication(supportedBy: methods)
        var forms: [SecretForm] = []
        if client.authentication == nil, usual == nil, let other = first?.alternative(supportedBy: methods) {
            forms.append(SecretForm(other))
        }
        if first == .basic, client.authentication?.isPlain != true, SecretForm.isPlainDifferent(client.id, secret) {
            forms.append(SecretForm(.basic, isPlain: true))
        }
        return forms.map { form in
            var client = client
            client.authentication = form
            return client
        }
    }
}
