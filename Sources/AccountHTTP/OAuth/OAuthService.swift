import AccountKit

/// One service with one client: the parts of an ``OAuthAuthority``, each with one job.
struct OAuthService: Sendable {
    let connection: ServiceConnection
    let clients: ServiceClients
    let scopes: ScopeChoice
    let registrar: ClientRegistrar
    let signIns: SignInGrants
    let machine: MachineGrants
    let sessions: SessionGrants
    let users: SignInUser

    /// - Parameters:
    ///   - known: The entry of the service, if AccountKit has one.
    ///   - endpoints: The endpoints of a service without a discovery document; `nil` to discover them.
    ///   - api: The API that names the service; `nil` if the app or the user named it.
    init(
        _ issuer: Issuer, known: KnownService?, endpoints: OAuthEndpoints? = nil, api: APIOrigin? = nil,
        _ settings: OAuthSettings
    ) throws(AccountError) {
        var settings = settings
        settings.follow(known)
        try settings.check()
        let connection = try ServiceConnection(to: issuer, known, endpoints: endpoints, api: api, settings)
        self.init(connection, try ScopeChoice(at: connection, settings), settings.client)
    }

    private init(_ connection: ServiceConnection, _ scopes: ScopeChoice, _ client: OAuthClient) {
        (self.connection, self.scopes) = (connection, scopes)
        clients = ServiceClients(of: client, at: connection)
        registrar = ClientRegistrar(clients: clients)
        users = SignInUser(connection: connection, clients: clients, scopes: scopes)
        machine = MachineGrants(connection: connection, clients: clients, scopes: scopes)
        sessions = SessionGrants(connection: connection, clients: clients, scopes: scopes, machine: machine)
        signIns = SignInGrants(
            connection: connection, clients: clients, registrar: registrar, scopes: scopes, users: users)
    }

    /// Returns the same service with another client.
    func changing(client: OAuthClient) -> OAuthService { OAuthService(connection, scopes, client) }
}
