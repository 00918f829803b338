public import AccountKit
public import Logging

/// A service that supports OAuth 2.0 or OpenID Connect over HTTPS.
///
/// ```swift
/// let authority = try OAuthAuthority(issuer: "https://login.example.com", clientID: "mytool")
/// switch try await store.checkSession(with: authority) { … }
/// ```
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
    /// The issuer identifier, as stored in accounts: scheme and host in lower case, without a trailing slash.
    public var issuer: String { issuerIdentifier.identifier }

    /// The ``KnownService`` entry of the service, if AccountKit has one.
    public let service: KnownService?

    /// The client ID of the app at the service (RFC 6749, section 2.2), or `nil` if the app is not registered.
    public var clientID: String? { client.identifier }

    /// The client secret. Users can read it from the program, so it does not protect against other programs (RFC 8252,
    /// section 8.5).
    var clientSecret: Secret? { client.secret }

    fileprivate(set) var client: OAuthClient

    /// The scopes of a sign-in (RFC 6749, section 3.3).
    public let scopes: [String]

    /// Further options of a sign-in.
    let options: OAuthRequestOptions

    /// The time limit for a request. For a token request, the limit applies until AccountKit sends the request.
    let timeout: Duration

    /// The time limit for a token request, from its first byte.
    ///
    /// A token request consumes a refresh token or a code. After AccountKit has sent the request, only this limit ends
    /// the wait for the response. The `timeout` of the authority and the cancellation of the task have no effect.
    public let tokenRequestTimeout: Duration

    let issuerIdentifier: Issuer
    let clock: any WallClock
    let logger: Logger?
    let transport: HTTPTransport
    let discovery: Discovery
    let documents: ServiceDocuments
    let learned: LearnedAuthentication
    let registrationState: RegistrationState

    /// Differences for an issuer that an API named; `nil` for one that the app or the user named.
    let api: APIOrigin?

    /// The scopes that the app or the user chose.
    let chosenScopes: Set<String>

    /// Whether to request `offline_access` if the service lists it. `true` only if the app chose no scopes.
    let asksForOfflineAccess: Bool

    /// Creates an authority for a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier: an `https` URL without query and fragment, or `http` on the loopback
    ///     interface. AccountKit ignores a trailing slash.
    ///   - clientID: The client ID of the app at the service. Without it, users can sign in only with an existing
    ///     token.
    ///   - clientSecret: The secret that some services, such as Google, require in addition to the client ID.
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
        asksForOfflineAccess = scopes == nil
        chosenScopes = Set((scopes ?? []) + additionalScopes)
        var scopes = scopes ?? api?.scopes ?? service?.scopes ?? ["openid", "profile", "email"]
        scopes += additionalScopes.filter { !scopes.contains($0) }
        try client.check()
        for scope in scopes where !Scope.isValid(scope) {
            throw AccountError(
                .invalidArgument, "\"\(scope)\" is not a single scope", hint: "pass one scope per list element")
        }
        var options = options
        // A client that registers itself chooses the redirect URI.
        if client.identifier != nil { options.redirectURI = options.redirectURI ?? service?.redirectURI }
        if service?.requiresProofs == true { options.bindsTokens = true }
        try options.check()
        guard timeout > .zero, tokenRequestTimeout > .zero else {
            throw AccountError(.invalidArgument, "the timeout must be greater than zero")
        }
        issuerIdentifier = issuer
        self.service = service
        self.client = client
        self.api = api
        learned = LearnedAuthentication()
        registrationState = RegistrationState()
        self.scopes = scopes
        self.options = options
        self.timeout = timeout
        self.tokenRequestTimeout = tokenRequestTimeout
        let clock = clock ?? SystemWallClock()
        self.clock = clock
        self.logger = logger
        let transport = api?.namer.map { HTTPTransport.shared.reaching(hostsNamedBy: $0) } ?? HTTPTransport.shared
        self.transport = transport
        let discovery = Discovery(
            issuer: issuer, service: service, isFromAPI: api != nil,
            isLimitedToOwnServer: api.map { !$0.isIssuerGiven } ?? false)
        self.discovery = discovery
        documents = ServiceDocuments(
            discovery, endpoints: endpoints ?? (service?.hasDiscovery == false ? service?.endpoints(at: issuer) : nil)
        ) { request async throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
    }
}

#if Signatures
extension OAuthAuthority {
    /// Returns this authority, with a client that authenticates with a key instead of a secret (RFC 7523, section 2.2).
    public func authenticating(with key: ClientKey) -> OAuthAuthority {
        var result = self
        result.client.assertion = key
        return result
    }
}
#endif
