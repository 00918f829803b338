public import AccountKit
public import Logging

/// A service with OAuth 2.0, and OpenID Connect where it has it, over HTTPS.
///
/// ```swift
/// let authority = try OAuthAuthority(issuer: "https://login.example.com", clientID: "mytool")
/// switch try await store.checkSession(with: authority) { … }
/// ```
///
/// Making one does nothing but check the arguments. The endpoints are looked up in the service's discovery document
/// when they are first needed, once for the value and all copies of it; so keep the value.
///
/// All functions throw an `AuthorityError`. Tokens go to the endpoints of this service only, never in a URL, and
/// no redirect is followed. No failure and no log line contains a token or a password, even if the service sends one back.
public struct OAuthAuthority: Sendable {
    /// The service, as it stands in its accounts: scheme and host in lower case, and no slash at the end.
    public var issuer: String { issuerIdentifier.identifier }

    /// The service's entry, if it is one of those that are known by name.
    public let service: KnownService?

    /// The app, as it is registered with the service (RFC 6749, section 2.2); `nil` if it is not.
    public let clientID: String?

    /// Sent with this client's identifier only. No secret, since users have the program (RFC 8252, section 8.5).
    let clientSecret: Secret?

    /// What a sign-in asks for (RFC 6749, section 3.3).
    public let scopes: [String]

    /// What a sign-in asks for beside the scopes.
    public let options: OAuthRequestOptions

    /// How long one request may take in all; a request for tokens, until it is sent.
    public let timeout: Duration

    /// How long the response to a request for tokens may take, from the first byte of the request on.
    ///
    /// Such a request spends a refresh token, or a code, so nothing else ends the wait for its response once it is sent:
    /// neither ``timeout`` nor the cancellation of the task.
    public let tokenRequestTimeout: Duration

    let issuerIdentifier: Issuer
    let clock: any WallClock
    let logger: Logger?
    let transport: HTTPTransport
    let discovery: Discovery
    let documents: ServiceDocuments
    let learned = LearnedAuthentication()

    /// Only where the caller gave no scopes.
    let asksForOfflineAccess: Bool

    /// Prepares to talk to a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier: an `https` URL without query and fragment, or `http` on the loopback
    ///     interface. A slash at its end makes no difference.
    ///   - clientID: The app, as it is registered with the service. Without one there is no signing in but with a token that
    ///     the user got elsewhere.
    ///   - clientSecret: The secret that some services, such as Google, require in addition to the identifier. It is sent in the
    ///     header (`client_secret_basic`) if the service supports that, else in the form (`client_secret_post`). A sign-in tries
    ///     the other method if the service answers `invalid_client`, unless `options` name the method.
    ///   - scopes: What a sign-in asks for; none lets the service decide, and `nil` asks for what the known service has,
    ///     or for `openid`, `profile` and `email`, and for `offline_access` where the service lists it.
    ///   - additionalScopes: Scopes to ask for in addition to those.
    ///   - options: What a sign-in asks for beside them, such as the API that the token is for.
    ///   - service: Which service it is, for a copy of a known one that runs elsewhere; with `nil` the issuer says it.
    ///   - endpoints: The endpoints of a service without a discovery document; with `nil` they are looked up.
    ///   - timeout: How long one request may take. A call may need up to three: discovery, tokens, user info.
    ///   - tokenRequestTimeout: How long the response to a request for tokens may take, from the first byte of the request on.
    ///   - clock: Tells the date.
    ///   - logger: Gets a line a request at debug level: method, host, path and status, and nothing else.
    /// - Throws: `invalidArgument`, and what to write instead.
    public init(
        issuer: String, clientID: String?, clientSecret: Secret? = nil, scopes: [String]? = nil,
        additionalScopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(),
        service: KnownService? = nil,
        endpoints: OAuthEndpoints? = nil, timeout: Duration = .seconds(10),
        tokenRequestTimeout: Duration = .seconds(60),
        clock: any WallClock = SystemWallClock(), logger: Logger? = nil
    ) throws(AccountError) {
        let named = try Issuer(issuer)
        let service = service ?? KnownService.at(named)
        let issuer = Issuer(named.url, form: service?.quirks.issuerForm ?? .exact)
        asksForOfflineAccess = scopes == nil && service == nil
        var scopes = scopes ?? service?.scopes ?? ["openid", "profile", "email"]
        scopes += additionalScopes.filter { !scopes.contains($0) }
        if let clientID, clientID.isEmpty || !clientID.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) {
            throw AccountError(.invalidArgument, "the client id must not be empty, and consists of printable ASCII")
        }
        for scope in scopes where !Scope.isValid(scope) {
            throw AccountError(.invalidArgument, "\"\(scope)\" is not one scope: give a list, one scope an element")
        }
        try options.check()
        guard timeout > .zero, tokenRequestTimeout > .zero else {
            throw AccountError(.invalidArgument, "the timeout must be longer than nothing")
        }
        issuerIdentifier = issuer
        self.service = service
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = scopes
        self.options = options
        self.timeout = timeout
        self.tokenRequestTimeout = tokenRequestTimeout
        self.clock = clock
        self.logger = logger
        let transport = HTTPTransport.shared
        self.transport = transport
        let discovery = Discovery(issuer: issuer, service: service)
        self.discovery = discovery
        documents = ServiceDocuments(
            discovery, endpoints: endpoints ?? (service?.hasDiscovery == false ? service?.endpoints(at: issuer) : nil)
        ) { request async throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
    }
}
