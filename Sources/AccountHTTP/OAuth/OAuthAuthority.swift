public import AccountKit
public import Logging

/// A service that supports OAuth 2.0 or OpenID Connect over HTTPS.
///
/// ```swift
/// let authority = try OAuthAuthority(issuer: "https://login.example.com", clientID: "mytool")
/// switch try await store.checkSession(with: authority) { … }
/// ```
///
/// The initializer only checks its arguments. The endpoints are discovered when first needed, once for the value and
/// all its copies, so keep the value.
///
/// All methods throw an `AuthorityError`. Tokens are sent only to the endpoints of this service and never in a URL, and
/// redirects are not followed. No error or log line contains a token or password, even if the service returns one.
public struct OAuthAuthority: Sendable {
    /// The issuer identifier, as stored in accounts: scheme and host in lower case, without a trailing slash.
    public var issuer: String { issuerIdentifier.identifier }

    /// The service's entry, if AccountKit has one.
    public let service: KnownService?

    /// The client ID of the app at the service (RFC 6749, section 2.2); `nil` if the app is not registered.
    public var clientID: String? { client.identifier }

    /// Users can read the secret from the program, so it protects nothing (RFC 8252, section 8.5).
    var clientSecret: Secret? { client.secret }

    let client: OAuthClient

    /// The scopes of a sign-in (RFC 6749, section 3.3).
    public let scopes: [String]

    /// Further options of a sign-in.
    public let options: OAuthRequestOptions

    /// How long a request may take. For a token request, how long it may take until it is sent.
    public let timeout: Duration

    /// How long a token request may take, from its first byte.
    ///
    /// A token request consumes a refresh token or a code. After it is sent, nothing else ends the wait for its
    /// response: neither ``timeout`` nor the cancellation of the task.
    public let tokenRequestTimeout: Duration

    let issuerIdentifier: Issuer
    let clock: any WallClock
    let logger: Logger?
    let transport: HTTPTransport
    let discovery: Discovery
    let documents: ServiceDocuments
    let learned: LearnedAuthentication
    let signInState: SignInClientState

    /// Differences for an issuer that an API named; `nil` for one that the app or the user named.
    let api: APIOrigin?

    /// Whether to request `offline_access` if the service lists it: only if the app chose no scopes.
    let asksForOfflineAccess: Bool

    /// Creates an authority for a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier: an `https` URL without query and fragment, or `http` on the loopback
    ///     interface. A trailing slash is ignored.
    ///   - clientID: The client ID of the app at the service. Without it, users can sign in only with an existing
    ///     token.
    ///   - clientSecret: The secret that some services, such as Google, require in addition to the client ID. It is
    ///     sent in the header (`client_secret_basic`) if the service supports that, otherwise in the form
    ///     (`client_secret_post`). After `invalid_client`, a sign-in tries the other method, unless `options` names the
    ///     method.
    ///   - scopes: The scopes of a sign-in. With an empty list, the service decides. With `nil`, these are the scopes
    ///     of the known service, or `openid`, `profile` and `email`, plus `offline_access` if the service lists it.
    ///   - additionalScopes: Scopes to add to `scopes`.
    ///   - options: Further options of a sign-in, such as the API of the token.
    ///   - service: The known service, for an instance of it at another address. With `nil`, the issuer determines it.
    ///   - endpoints: The endpoints of a service without a discovery document. With `nil`, they are discovered.
    ///   - timeout: How long a request may take. A call may need up to three: discovery, tokens, user info.
    ///   - tokenRequestTimeout: How long a token request may take, from its first byte.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` with advice.
    public init(
        issuer: String, clientID: String?, clientSecret: Secret? = nil, scopes: [String]? = nil,
        additionalScopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(),
        service: KnownService? = nil,
        endpoints: OAuthEndpoints? = nil, timeout: Duration = .seconds(10),
        tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        let named = try Issuer(issuer)
        let service = service ?? KnownService.at(named)
        try self.init(
            Issuer(named.url, form: service?.quirks.issuerForm ?? .exact),
            client: OAuthClient(identifier: clientID, secret: clientSecret), scopes: scopes,
            additionalScopes: additionalScopes, options: options, service: service, endpoints: endpoints,
            timeout: timeout, tokenRequestTimeout: tokenRequestTimeout, clock: clock, logger: logger)
    }

    init(
        _ issuer: Issuer, client: OAuthClient, scopes: [String]?, additionalScopes: [String],
        options: OAuthRequestOptions, service: KnownService?, endpoints: OAuthEndpoints? = nil, timeout: Duration,
        tokenRequestTimeout: Duration, clock: (any WallClock)?, logger: Logger?, api: APIOrigin? = nil
    ) throws(AccountError) {
        asksForOfflineAccess = scopes == nil && service == nil
        var scopes = scopes ?? api?.scopes ?? service?.scopes ?? ["openid", "profile", "email"]
        scopes += additionalScopes.filter { !scopes.contains($0) }
        try client.check()
        for scope in scopes where !Scope.isValid(scope) {
            throw AccountError(
                .invalidArgument, "\"\(scope)\" is not a single scope", hint: "pass one scope per list element")
        }
        try options.check()
        guard timeout > .zero, tokenRequestTimeout > .zero else {
            throw AccountError(.invalidArgument, "the timeout must be greater than zero")
        }
        issuerIdentifier = issuer
        self.service = service
        self.client = client
        self.api = api
        learned = LearnedAuthentication()
        signInState = SignInClientState()
        self.scopes = scopes
        self.options = options
        self.timeout = timeout
        self.tokenRequestTimeout = tokenRequestTimeout
        let clock = clock ?? SystemWallClock()
        self.clock = clock
        self.logger = logger
        let transport = HTTPTransport.shared
        self.transport = transport
        let discovery = Discovery(issuer: issuer, service: service, isFromAPI: api != nil)
        self.discovery = discovery
        documents = ServiceDocuments(
            discovery, endpoints: endpoints ?? (service?.hasDiscovery == false ? service?.endpoints(at: issuer) : nil)
        ) { request async throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
    }
}
