public import AccountKit
public import Logging

/// A service that supports OAuth 2.0 or OpenID Connect over HTTPS.
///
/// ```swift
/// let authority = try OAuthAuthority(issuer: "https://login.example.com", clientID: "mytool")
/// switch try await store.checkSession(with: authority) { … }
/// ```
///
/// The app or the user names the service with its `issuer`, or only its `api`, which then names the service. Users sign in,
/// or the program signs in as itself; see ``MachineIdentity``.
///
/// The initializer only checks its arguments. AccountKit discovers the endpoints when it first needs them, once for the
/// value and all its copies. To avoid repeated requests, keep the value. AccountKit stores the token endpoint and
/// the user info endpoint with the account, so a refresh or a check needs no discovery while the metadata of the service
/// is fresh (RFC 9111).
///
/// Methods throw an `AuthorityError` if their documentation does not mention another error. AccountKit sends tokens
/// only to the endpoints of this service, never in a URL, and does not follow redirects. No error or log line contains
/// a token or password, even if the service returns one.
public struct OAuthAuthority: Sendable {
    /// Where the issuer comes from.
    enum Origin: Sendable {
        /// The app or the user named the issuer.
        case issuer(OAuthService)

        /// The app or the user knows the URL of an API, which names its issuer (RFC 9728).
        case api(APIServices)
    }

    var origin: Origin

    /// The program, if it signs in as itself; `nil` for the sign-ins of users.
    let machine: MachineIdentity?
    var settings: OAuthSettings

    /// Creates an authority for a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier: an `https` URL without query and fragment, or `http` on the loopback
    ///     interface. AccountKit ignores a trailing slash.
    ///   - clientID: The client ID of the app at the service. Without it, users can sign in only with an existing
    ///     token.
    ///   - clientSecret: The secret that some services, such as Google, require in addition to the client ID. Users can
    ///     read it from the program, so it does not protect against other programs (RFC 8252, section 8.5).
    ///     AccountKit sends the secret in the header (`client_secret_basic`) if the service supports this method, and
    ///     otherwise in the form (`client_secret_post`). After `invalid_client`, a sign-in tries the other method,
    ///     unless `options` specifies the method.
    ///   - scopes: The scopes of a sign-in. If the list is empty, the service chooses the scopes. If it is `nil`,
    ///     AccountKit requests the scopes of the known service. For other services, it requests `openid`, `profile` and
    ///     `email`, and also `offline_access` if the service lists it.
    ///   - additionalScopes: Scopes to add to `scopes`.
    ///   - options: Further options of a sign-in, such as the API of the token.
    ///   - service: The known service, if the issuer is an instance of it at another address. If `nil`, AccountKit
    ///     finds the known service by the issuer.
    ///   - endpoints: The endpoints of a service without a discovery document. If `nil`, AccountKit discovers them.
    ///   - timeout: The time limit for each request. One call may send several requests, such as discovery, tokens and
    ///     user info.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` if an argument is not valid. The message contains advice.
    public init(
        issuer: String, clientID: String?, clientSecret: Secret? = nil, scopes: [String]? = nil,
        additionalScopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(),
        service: KnownService? = nil,
        endpoints: OAuthEndpoints? = nil, timeout: Duration = .seconds(10),
        tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        try self.init(
            issuer: issuer, nil, service, endpoints,
            OAuthSettings(
                client: OAuthClient(identifier: clientID, secret: clientSecret), scopes: scopes,
                additionalScopes: additionalScopes, options: options, timeout: timeout,
                tokenRequestTimeout: tokenRequestTimeout, clock: clock ?? SystemWallClock(), logger: logger))
    }

    /// Creates an authority for an API, for an app that knows only the URL of the API.
    ///
    /// ```swift
    /// let authority = try OAuthAuthority(
    ///     api: "https://api.example.com", client: OAuthClient(registeringIn: container, name: "Notes"))
    /// let account = try await store.signIn(with: authority) { signIn in print("Open \(signIn.url)") }
    /// ```
    ///
    /// A sign-in asks the API for its authorization server, scopes and resource identifier (RFC 9728), and reads the
    /// metadata of the authorization server (RFC 8414). A signed-in account names its service itself, so checks and
    /// refreshes do not ask the API again.
    ///
    /// An API may name any authorization server. Unless you set the `issuer`, AccountKit does not send it a secret, a key, an
    /// assertion, a password or a token that the app or the user supplies, and its endpoints must be on its own server. A
    /// ``KnownService`` may receive them, and has its own list of servers.
    ///
    /// - Parameters:
    ///   - url: The `https` URL of the API, or `http` on the loopback interface. The URL of an issuer works too.
    ///   - issuer: The authorization server, which the API must name too. It is necessary if the API names several, if
    ///     the endpoints are on different servers, or if the sign-in sends a secret, a key, a password or a token.
    ///   - client: How the app identifies itself.
    ///   - scopes: The scopes of a sign-in. With `nil`, these are the scopes that the API names, or else `openid`,
    ///     `profile` and `email` if the authorization server lists them; and `offline_access` if it lists that.
    ///   - additionalScopes: Scopes to add.
    ///   - options: Further options of a sign-in. Its resources are requested in addition to the API.
    ///   - timeout: The time limit for each request.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` with advice.
    public init(
        api url: String, issuer: String? = nil, client: OAuthClient, scopes: [String]? = nil,
        additionalScopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(),
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        let settings = OAuthSettings(
            client: client, scopes: scopes, additionalScopes: additionalScopes, options: options, timeout: timeout,
            tokenRequestTimeout: tokenRequestTimeout, clock: clock ?? SystemWallClock(), logger: logger)
        self.init(api: try APIServices(url: url, issuer: issuer, settings))
    }

    /// Creates an authority for a program that signs in as itself, without a user (RFC 6749, section 4.4).
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, as for users.
    ///   - machine: The identity of the program.
    ///   - scopes: The scopes to request at the sign-in, and for each later token of that session. If the list is empty,
    ///     the service chooses the scopes.
    ///   - options: The audience and the resources of the tokens, as at the sign-in, and how a client with a secret
    ///     authenticates. The other options do not apply.
    ///   - endpoints: The endpoints of a service without a discovery document. If `nil`, AccountKit discovers them.
    ///   - timeout: The time limit for each request, and for a program that prints an assertion. For a token request, the
    ///     limit applies until AccountKit sends the request.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` if an argument is not valid. The message contains advice.
    public init(
        issuer: String, machine: MachineIdentity, scopes: [String] = [],
        options: OAuthRequestOptions = OAuthRequestOptions(), endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        try self.init(
            issuer: issuer, machine, nil, endpoints,
            OAuthSettings(
                client: machine.client, scopes: scopes, options: options, timeout: timeout,
                tokenRequestTimeout: tokenRequestTimeout, clock: clock ?? SystemWallClock(), logger: logger))
    }

    private init(
        issuer: String, _ machine: MachineIdentity?, _ service: KnownService?, _ endpoints: OAuthEndpoints?,
        _ settings: OAuthSettings
    ) throws(AccountError) {
        let named = try Issuer(issuer)
        let known = service ?? KnownService.at(named)
        self.machine = machine
        self.settings = settings
        origin = .issuer(
            try OAuthService(
                Issuer(named.url, form: known?.quirks.issuerForm ?? .exact), known: known, endpoints: endpoints,
                settings))
    }

    init(api: APIServices) {
        origin = .api(api)
        machine = nil
        settings = api.settings
    }
}
