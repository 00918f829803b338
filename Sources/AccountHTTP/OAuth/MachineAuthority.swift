public import AccountKit
public import Logging

/// An OAuth 2.0 service at which a program signs in as itself, without a user (RFC 6749, section 4.4).
///
/// ```swift
/// let authority = try MachineAuthority(
///     issuer: "https://login.example.com", clientID: "nightly", clientSecret: Secret(secret), scopes: ["reports.read"])
/// try await store.signIn { try await authority.signIn() }
/// let token = try await store.accessToken(with: authority)
/// ```
///
/// The session has no refresh token. When the access token expires, AccountKit requests another token, one process at a
/// time. The archive does not contain the client secret, so each process needs it.
///
/// No failure ends the session, not even `invalid_client`, because another process may have the right secret. The error
/// of the request says what the service rejected. The session ends with a sign-out, or with another sign-in.
///
/// The token has no user, so `AccountStore.checkSession` sends no request until the token expires.
public struct MachineAuthority: Sendable {
    /// The issuer identifier, as stored in accounts.
    public var issuer: String { oauth.issuer }

    /// The client ID at the service, which is also the id of the account; `nil` for a workload without a client ID.
    public let clientID: String?

    private let oauth: OAuthAuthority

    /// Creates an authority for a service.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier; see ``OAuthAuthority``.
    ///   - clientID: The client ID at the service.
    ///   - clientSecret: The client secret, which AccountKit sends with the method in `options`, or with
    ///     `client_secret_basic` or `client_secret_post`, as the service supports (RFC 6749, section 2.3.1).
    ///   - scopes: The scopes to request at the sign-in, and for each later token of that session. If the list is empty,
    ///     the service chooses the scopes.
    ///   - options: The audience and the resources of the tokens, as at the sign-in, and how the client authenticates.
    ///     The other options do not apply.
    ///   - endpoints: The endpoints of a service without a discovery document. If `nil`, AccountKit discovers them.
    ///   - timeout: The time limit for each request. For a token request, the limit applies until AccountKit sends the
    ///     request.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` if an argument is not valid. The message contains advice.
    public init(
        issuer: String, clientID: String, clientSecret: Secret, scopes: [String] = [],
        options: OAuthRequestOptions = OAuthRequestOptions(), endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        self.clientID = clientID
        oauth = try OAuthAuthority(
            issuer: issuer, clientID: clientID, clientSecret: clientSecret, scopes: scopes, options: options,
            endpoints: endpoints, timeout: timeout, tokenRequestTimeout: tokenRequestTimeout, clock: clock,
            logger: logger)
    }

    #if Signatures
    /// Creates an authority for a service at which the client authenticates with a key (RFC 7523, section 2.2).
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier; see ``OAuthAuthority``.
    ///   - clientID: The client ID at the service.
    ///   - clientKey: The private key. The service must know its public key.
    ///   - scopes: The scopes to request at the sign-in, and for each later token of that session. If the list is empty,
    ///     the service chooses the scopes.
    ///   - options: The audience and the resources of the tokens, as at the sign-in. The other options do not apply.
    ///   - endpoints: The endpoints of a service without a discovery document. If `nil`, AccountKit discovers them.
    ///   - timeout: The time limit for each request. For a token request, the limit applies until AccountKit sends the
    ///     request.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` if an argument is not valid. The message contains advice.
    public init(
        issuer: String, clientID: String, clientKey: ClientKey, scopes: [String] = [],
        options: OAuthRequestOptions = OAuthRequestOptions(), endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        self.clientID = clientID
        oauth = try OAuthAuthority(
            issuer: issuer, clientID: clientID, scopes: scopes, options: options, endpoints: endpoints,
            timeout: timeout, tokenRequestTimeout: tokenRequestTimeout, clock: clock, logger: logger
        ).authenticating(with: clientKey)
    }
    #endif

    /// Creates an authority for a program that its platform identifies, such as a CI job or a pod. The program needs no
    /// secret: AccountKit requests a new assertion from the platform for each token request (RFC 7523, RFC 8693).
    ///
    /// ```swift
    /// let authority = try MachineAuthority(issuer: "https://login.example.com", workload: .gitHubActions)
    /// ```
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, which is also the audience of the assertions; see ``OAuthAuthority``.
    ///   - clientID: The client ID at the service. If `nil`, the id of the account is the `sub` of the assertion.
    ///   - workload: The source of the assertions.
    ///   - grant: The grant of a sign-in. If `nil`, it is the first one that the metadata of the service lists.
    ///   - scopes: The scopes to request at the sign-in, and for each later token of that session. If the list is empty,
    ///     the service chooses the scopes.
    ///   - options: The audience and the resources of the tokens, as at the sign-in. The other options do not apply.
    ///   - endpoints: The endpoints of a service without a discovery document. If `nil`, AccountKit discovers them.
    ///   - timeout: The time limit for each request, and for a program that prints the assertion.
    ///   - tokenRequestTimeout: The time limit for a token request, from its first byte.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` if an argument is not valid. The message contains advice.
    public init(
        issuer: String, clientID: String? = nil, workload: WorkloadSource, grant: WorkloadGrant? = nil,
        scopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(), endpoints: OAuthEndpoints? = nil,
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        self.clientID = clientID
        oauth = try OAuthAuthority(
            issuer: issuer, clientID: clientID, workload: workload, grant: grant, scopes: scopes, options: options,
            endpoints: endpoints, timeout: timeout, tokenRequestTimeout: tokenRequestTimeout, clock: clock,
            logger: logger)
    }

    /// Requests an access token, and returns the account of the client.
    public func signIn() async throws(AuthorityError) -> Account { try await oauth.signInAsClient() }
}

extension MachineAuthority: AccountAuthority {
    /// Throws `misconfigured`, because no user belongs to the token. AccountKit does not call this method for the
    /// account of a client.
    public func verify(_ account: Account) async throws(AuthorityError) -> Identity { try await oauth.verify(account) }

    /// Requests another access token.
    public func refresh(_ account: Account) async throws(AuthorityError) -> Credentials {
        try await oauth.refresh(account)
    }

    /// Revokes the access token (RFC 7009).
    ///
    /// - Returns: `notSupported` if the metadata of the service contains no revocation endpoint.
    public func revoke(_ account: Account) async throws(AuthorityError) -> RevocationOutcome {
        try await oauth.revoke(account)
    }

    /// Returns whether the account belongs to this client at this service.
    public func isAuthority(of account: Account) -> Bool {
        guard oauth.isAuthority(of: account), let machine = account.credentials.machine else { return false }
        return clientID.map { account.id == $0 } ?? (machine.workload != nil && account.credentials.clientID == nil)
    }

    /// The time limit for a token request, from its first byte.
    public var tokenRequestTimeout: Duration { oauth.tokenRequestTimeout }

    /// The ``issuer``.
    public var accountIssuer: String? { issuer }

    /// The value in the ``KnownService`` entry of the service, or `false` if the service has no entry.
    public var supportsPerGrantRevocation: Bool { oauth.supportsPerGrantRevocation }
}

extension MachineAuthority: ServiceAuthority {
    package var clientWay: (any ServiceAuthority)? { self }

    package func prepare(
        _ request: TokenRequest, of account: Account
    ) async throws(AuthorityError) -> any PreparedExchange {
        try await oauth.prepare(request, of: account)
    }

    package func signInAsClient() async throws -> Account { try await signIn() }

    package func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError? {
        await oauth.assertionProblem(for: account, isQuick: isQuick)
    }
}
