import AccountKit

/// One service with one client: the parts of an ``OAuthAuthority``, each with one job.
struct OAuthService: Sendable {
    let connection: ServiceConnection
    let clients: ClientAuthenticator
    let scopes: ScopeChoice
    let registrar: ClientRegistrar
    let chooser: ClientChooser
    let signIns: SignInGrants
    let machine: MachineGrants
    let sessions: SessionGrants
    let users: SignInUser
    let check: SessionCheck
    let revocation: TokenRevocation

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
        clients = ClientAuthenticator(of: client, at: connection)
        registrar = ClientRegistrar(of: client, at: connection)
        chooser = ClientChooser(connection: connection, clients: clients, registrar: registrar)
        revocation = TokenRevocation(connection: connection, clients: clients)

        let apiCheck = APICheck(connection: connection)
        let endpoints = UserEndpoints(connection: connection, clients: clients)
        check = SessionCheck(connection: connection, endpoints: endpoints, api: apiCheck)
        users = SignInUser(
            connection: connection, clients: clients, scopes: scopes, endpoints: endpoints, api: apiCheck)

        let tokens = TokenRequests(connection: connection, clients: clients)
        machine = MachineGrants(connection: connection, clients: clients, scopes: scopes, tokens: tokens)
        sessions = SessionGrants(
            connection: connection, clients: clients, scopes: scopes, tokens: tokens, machine: machine)
        signIns = SignInGrants(
            connection: connection, clients: clients, chooser: chooser, scopes: scopes, tokens: tokens, users: users,
            revocation: revocation)
    }

    /// Returns the same service with another client.
    func changing(client: OAuthClient) -> OAuthService { OAuthService(connection, scopes, client) }
}
