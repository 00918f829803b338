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
/// All functions throw an `AuthoritySignal`. Tokens go to the endpoints of this service only, never in an address, and
/// no redirect is followed. No signal and no log line contains a token or a password, even if the service sends one back.
public struct OAuthAuthority: Sendable {
    /// The service, as it stands in its accounts: scheme and host in lower case, and no slash at the end.
    public var issuer: String { issuerIdentifier.identifier }

    /// The service's entry, if it is one of those that are known by name.
    public let service: KnownService?

    /// The app, as it is registered with the service (RFC 6749, section 2.2); `nil` if it is not.
    public let clientID: String?

    /// What some services want from a program beside its identifier, although it can be no secret there (RFC 8252,
    /// section 8.5).
    let clientSecret: Secret?

    /// What a sign-in asks for (RFC 6749, section 3.3).
    public let scopes: [String]

    /// How long one request may take, from the look-up of the host to the last byte of the reply.
    public let timeout: Duration

    let issuerIdentifier: Issuer
    let clock: any WallClock
    let logger: Logger?
    let transport: HTTPTransport
    let knownMetadata: FetchedOnce<ServiceMetadata>

    /// The revocation endpoint of a document that is read for nothing else; `nil` if there is none.
    let furtherRevocation: FetchedOnce<ServiceURL?>

    /// Prepares to talk to a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier: an `https` address without query and fragment, or `http` on the loopback
    ///     interface. A slash at its end makes no difference.
    ///   - clientID: The app, as it is registered with the service. Without one there is no signing in but with a token that
    ///     the user got elsewhere.
    ///   - clientSecret: What some services, such as Google, want from a program beside its identifier.
    ///   - scopes: What a sign-in asks for; none lets the service decide, and `nil` asks for what the known service has,
    ///     or for `openid`, `profile` and `email`.
    ///   - service: Which service it is, for a copy of a known one that runs elsewhere; with `nil` the issuer says it.
    ///   - endpoints: The endpoints of a service without a discovery document; with `nil` they are looked up.
    ///   - timeout: How long one request may take. A call may need up to three: discovery, tokens, user info.
    ///   - clock: Tells the date.
    ///   - logger: Gets a line a request at debug level: method, host, path and status, and nothing else.
    /// - Throws: `invalidArgument`, and what to write instead.
    public init(
        issuer: String, clientID: String?, clientSecret: Secret? = nil, scopes: [String]? = nil,
        service: KnownService? = nil, endpoints: OAuthEndpoints? = nil, timeout: Duration = .seconds(10),
        clock: any WallClock = SystemWallClock(), logger: Logger? = nil
    ) throws(AccountError) {
        try self.init(
            issuer: issuer, clientID: clientID, clientSecret: clientSecret, scopes: scopes, service: service,
            endpoints: endpoints, timeout: timeout, clock: clock, logger: logger, transport: .shared)
    }

    init(
        issuer: String, clientID: String?, clientSecret: Secret? = nil, scopes: [String]?, service: KnownService? = nil,
        endpoints: OAuthEndpoints?, timeout: Duration, clock: any WallClock, logger: Logger?, transport: HTTPTransport
    ) throws(AccountError) {
        let named = try Issuer(issuer)
        let service = service ?? KnownService.at(named)
        let issuer = Issuer(named.url, form: service?.dialect.issuerForm ?? .exact)
        let scopes = scopes ?? service?.scopes ?? ["openid", "profile", "email"]
        if let clientID, clientID.isEmpty || !clientID.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) {
            throw AccountError(.invalidArgument, "the client id must not be empty, and consists of printable ASCII")
        }
        for scope in scopes where !Self.isScope(scope) {
            throw AccountError(.invalidArgument, "\"\(scope)\" is not one scope: give a list, one scope an element")
        }
        guard timeout > .zero else {
            throw AccountError(.invalidArgument, "the timeout must be longer than nothing")
        }
        issuerIdentifier = issuer
        self.service = service
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = scopes
        self.timeout = timeout
        self.clock = clock
        self.logger = logger
        self.transport = transport
        @Sendable func send(_ request: HTTPRequest) async throws(AuthoritySignal) -> HTTPReply {
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
        let metadata =
            if let endpoints = endpoints ?? (service?.hasDiscovery == false ? service?.endpoints(at: issuer) : nil) {
                FetchedOnce(ServiceMetadata(endpoints: endpoints))
            } else {
                FetchedOnce.catching { () async throws(AuthoritySignal) in
                    try await Self.discover(Discovery(issuer: issuer, service: service), send: send)
                }
            }
        knownMetadata = metadata
        furtherRevocation = FetchedOnce.catching { () async throws(AuthoritySignal) in
            for address in try await metadata.value().unread {
                let reply = try await send(HTTPRequest(url: address))
                if reply.status != 404 { return try Discovery(issuer: issuer).revocation(in: reply) }
            }
            return nil
        }
    }

    /// RFC 6749, section 3.3.
    private static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    private static func discover(
        _ discovery: Discovery, send: (HTTPRequest) async throws(AuthoritySignal) -> HTTPReply
    ) async throws(AuthoritySignal) -> ServiceMetadata {
        let addresses = discovery.addresses
        for (number, address) in addresses.enumerated() {
            let reply = try await send(HTTPRequest(url: address))
            if reply.status != 404 {
                return try discovery.metadata(in: reply, unread: Array(addresses[(number + 1)...]))
            }
        }
        throw discovery.isMissing
    }
}

// MARK: What every way to sign in needs

extension OAuthAuthority {
    /// How the service's messages differ from the standards'.
    var dialect: ServiceDialect { service?.dialect ?? .standard }

    /// The app, for what only a registered one can do.
    ///
    /// - Parameter owner: Whom the tokens were issued to, if that is known.
    func registeredClient(_ owner: String? = nil) throws(AuthoritySignal) -> String {
        if let clientID = owner ?? clientID { return clientID }
        let place = service.map { " at \($0.registrationPage)" } ?? ""
        throw .misconfigured(
            "\(issuer) knows programs by a client identifier, and this one has none: register it\(place), and give the "
                + "identifier that you get there")
    }

    /// A form, with who sends it (RFC 6749, section 2.3.1). The secret is this client's only.
    func identified(_ form: FormBody, as clientID: String?) -> FormBody {
        guard let clientID else { return form }
        var form = form
        form.append("client_id", clientID)
        if let clientSecret, clientID == self.clientID { form.append("client_secret", clientSecret) }
        return form
    }

    /// The endpoints: as they were given, or as the service's discovery document has them.
    package func endpoints() async throws(AuthoritySignal) -> OAuthEndpoints {
        try await knownMetadata.value().endpoints
    }

    /// The revocation endpoint, if there is one.
    ///
    /// Some services name it only in the document of RFC 8414, and user info only in that of OpenID Connect. A further
    /// document that cannot be read counts as one without it: it is no reason to keep a sign-out waiting.
    func revocationURL() async throws(AuthoritySignal) -> ServiceURL? {
        if let url = try await endpoints().revocationURL { return url }
        do throws(AuthoritySignal) {
            return try await furtherRevocation.value()
        } catch {
            if error == .noReply(.cancelled) { throw error }
            return nil
        }
    }

    /// Sends a form to the token endpoint and reads the tokens that it answers with (RFC 6749, section 5).
    ///
    /// - Parameters:
    ///   - form: The grant; its `client_id` is added.
    ///   - clientID: The client that asks.
    ///   - isRefresh: Whether the grant is a refresh token.
    package func requestCredentials(
        _ form: FormBody, for clientID: String, isRefresh: Bool = false
    ) async throws(AuthoritySignal) -> Credentials {
        try await requestTokens(form, for: clientID, isRefresh: isRefresh).credentials
    }

    /// The same, and the reply in which the tokens came.
    func requestTokens(
        _ form: FormBody, for clientID: String, isRefresh: Bool = false
    ) async throws(AuthoritySignal) -> (credentials: Credentials, reply: HTTPReply) {
        let request = HTTPRequest(url: try await endpoints().tokenURL, form: identified(form, as: clientID))
        let reply = try await send(request)
        return (
            try ReplyReading(.token, sent: request.secrets, dialect: dialect, isRefresh: isRefresh).credentials(
                in: reply, for: clientID),
            reply
        )
    }

    /// Asks whose a token is.
    ///
    /// - Returns: The user, and the reply that said so.
    func userInfo(with token: Secret) async throws(AuthoritySignal) -> (identity: Identity, reply: HTTPReply) {
        guard let url = try await endpoints().userInfoURL else {
            throw .misconfigured("\(issuer) offers no user info, so it cannot be asked whose a token is")
        }
        guard token.withUnsafeBytes({ ReplyReading.isToken($0) }) else {
            throw .unclear("the stored token has characters that cannot be sent")
        }
        let request = HTTPRequest(url: url, bearer: token)
        let reply = try await send(request)
        return (try ReplyReading(.userInfo, sent: request.secrets, dialect: dialect).identity(in: reply), reply)
    }

    func send(_ request: HTTPRequest) async throws(AuthoritySignal) -> HTTPReply {
        try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
    }

    /// A token is for the service that issued it, and for nobody else.
    func checkIssuer(of account: Account) throws(AuthoritySignal) {
        guard let other = account.issuer else {
            throw .misconfigured("the account does not say which service it is of, so \(issuer) is not sent its token")
        }
        guard issuerIdentifier.isSame(as: other) else {
            throw .misconfigured("the account is of \(other), so \(issuer) is not sent its token")
        }
    }
}
