/// What the commands and the store need of a service beyond ``AccountAuthority``. Each requirement has a default, for a
/// service that does not offer it.
///
/// ``AccountAuthority/serviceAuthority`` returns this view of any authority.
package protocol ServiceAuthority: AccountAuthority {
    // MARK: Ways to sign in

    /// The sign-in with a user name and a password; `nil` if the service has none.
    var passwordWay: (any PasswordAuthority)? { get }

    /// The sign-in with an access token; `nil` if the service has none.
    var tokenWay: (any TokenAuthority)? { get }

    /// The sign-in on another device; `nil` if the service has none.
    var deviceWay: (any DeviceAuthority)? { get }

    /// The sign-in with a browser; `nil` if the service has none.
    var browserWay: (any BrowserAuthority)? { get }

    /// The sign-in as a client, without a user; `nil` if the service has none.
    var clientWay: (any ServiceAuthority)? { get }

    /// Finds out whether a sign-in with a password is possible, before the user enters the password. Throws an
    /// ``AuthorityError`` if the service cannot be reached, or if it requires a client ID that the app does not have.
    func preparePasswordSignIn() async throws

    /// Signs in, and returns an account whose id is the client ID; see ``clientWay``.
    func signInAsClient() async throws -> Account

    /// Returns why this program gets no assertion from its platform for an account; `nil` if it gets one, or uses none.
    ///
    /// - Parameters:
    ///   - account: An account of this authority.
    ///   - isQuick: If `true`, the authority starts no program and sends no request.
    func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError?

    /// Returns a scope or parameter with which the next sign-in may obtain a refresh token; `nil` if the sign-in sent all
    /// of them, or if the scopes of the service are unknown.
    func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice?

    /// How long a refresh token stays valid if no refresh uses it; `nil` if this is unknown.
    var unusedTokenLifetime: Duration? { get }

    /// Returns the scopes that a sign-in requests; an empty array if they are unknown.
    func signInScopes() async -> [String]

    /// Returns the address of the page where the user signs out of the service (OpenID Connect RP-Initiated Logout 1.0);
    /// `nil` if the service has no such page or cannot be reached.
    func endSessionURL() async -> String?

    // MARK: Registrations (RFC 7591)

    /// Whether the next sign-in should be tried once more, because the service rejected the registration of the app.
    var hasRejectedRegistration: Bool { get }

    /// Removes the registration that an account used, at the service and here (RFC 7592, section 2.3). Does nothing if
    /// the service cannot remove registrations, if the account used another client, or if a sign-in is in progress that
    /// uses the registration.
    ///
    /// - Parameter isUsed: Returns whether a session uses the registration. No sign-in stores such a session between
    ///   this call and the removal. Its type has `@concurrent`, because the modules that implement this function do not
    ///   enable `NonisolatedNonsendingByDefault`; with another type, their functions would not replace the default.
    func removeRegistration(
        of account: Account, unless isUsed: @concurrent @Sendable () async throws -> Bool
    ) async throws(AccountError)

    /// Whether a sign-in with this authority has replaced a registration that the service can remove.
    var hasReplacedRegistration: Bool { get }

    /// Removes the registration that a sign-in with this authority has replaced, at the service. Does nothing in the same
    /// cases as ``removeRegistration(of:unless:)``. Call this method after the session is stored.
    ///
    /// - Parameter isUsed: Returns whether a session uses a client.
    func removeReplacedRegistration(
        unless isUsed: @concurrent @Sendable (_ clientID: String) async throws -> Bool
    ) async throws(AccountError)

    // MARK: Services that an API names (RFC 9728)

    /// The URL of the API that this authority asks for its service; `nil` if the app or the user named the service.
    var namingAPI: String? { get }

    /// Returns the issuers that the API names, at least one. The first call asks the API.
    func authorizationServers() async throws(AccountError) -> [String]

    /// Returns the same authority with one of the issuers that the API names.
    func choosing(issuer: String) -> any ServiceAuthority

    /// Returns the service of a sign-in; `nil` without an API. The first call asks the API.
    ///
    /// - Throws: `misconfigured` if the sign-in would send a secret, a key or an assertion that the user supplies, and only
    ///   the API names the service.
    func signInService() async throws(AccountError) -> SignInService?

    /// Returns the resources that a sign-in requests tokens for (RFC 8707); empty if the API names none. The first call asks
    /// the API.
    func signInResources() async throws(AccountError) -> [String]

    /// What the API required beyond the token in the last check of a session; `nil` for nothing.
    var unmetRequirement: AccessRequirement? { get }

    /// Returns an error if the access token names its audience, and the API is not part of it (RFC 7519, section 4.1.3).
    func audienceProblem(of credentials: Credentials) -> AccountError?

    /// Returns whether the user must register a client at the service, because the app has no client ID and cannot obtain
    /// one. Asks the API and the service.
    func requiresClientID() async throws(AccountError) -> Bool

    /// Returns the `https` page with information for developers that the service names (`service_documentation`; RFC
    /// 8414, section 2); `nil` if it names none. The text may contain control characters.
    func serviceDocumentation() async throws(AccountError) -> String?

    /// Returns the same authority with further scopes and parameters for the next sign-in.
    func adding(
        _ requirement: AccessRequirement, grantedTo account: Account
    ) throws(AccountError) -> any ServiceAuthority

    /// Sends the account's token to the API, and returns what the API requires beyond it; `nil` for nothing.
    func requirement(for account: Account) async throws(AccountError) -> AccessRequirement?

    // MARK: Tokens

    /// Looks up the endpoint of a token request and connects to it, without sending a token. If this function throws an
    /// ``AuthorityError``, the token request was not sent.
    ///
    /// A refresh first prepares its request, and then records its intent. The lease therefore needs to last only for the
    /// request itself. If a process dies while it connects, it leaves no record of a token that may be spent.
    func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange

    /// Whether the service may issue tokens for other APIs, or with fewer scopes, in a session.
    var derivesTokens: Bool { get }

    /// Returns the grant for a target, without spending a token. The store calls this function before
    /// ``exchangeToken(for:of:by:)``. If the grant spends the refresh token, the store follows the rules of a refresh.
    ///
    /// - Throws: An ``AuthorityError``: `misconfigured` if the service cannot issue such a token.
    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation

    /// Requests an access token for a target.
    ///
    /// - Parameters:
    ///   - target: The purpose of the token.
    ///   - account: The account whose tokens to send. If the grant is a refresh, the account has a refresh token.
    ///   - derivation: The grant, from ``tokenDerivation(for:of:)``.
    /// - Returns: The access token. After a refresh, the result also contains the new refresh token if the service sent
    ///   one. The store ignores a refresh token of a token exchange.
    /// - Throws: An ``AuthorityError``, which does not end the session. If a refresh fails with
    ///   `oauthError("invalid_grant")` or `rejected`, the store calls ``AccountAuthority/refresh(_:)`` once, and the
    ///   result of that call determines whether the session has ended.
    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials

    /// Returns a proof that the sender of one request of another program has the key of a session (RFC 9449); `nil` if the
    /// service does not bind tokens to keys.
    ///
    /// - Parameters:
    ///   - credentials: The access token in the request, and its key.
    ///   - method: The method of the request, such as `GET`.
    ///   - url: The URL of the request.
    ///   - nonce: The nonce that the API requires, if any (section 9).
    /// - Throws: An ``AuthorityError``: `misconfigured` if this program cannot sign with the key. An ``AccountError``:
    ///   `invalidArgument` if the token must not be sent to the URL.
    func proof(of credentials: Credentials, method: String, url: String, nonce: String?) throws -> String?

    /// Sends a request of another program with the token of the signed-in user, refreshed first if necessary.
    ///
    /// If the server rejects the token, the token is refreshed once and the request is sent again. The token is sent
    /// only to the URL of the request, and redirects are not followed. There is no timeout once the connection is open:
    /// cancel the task to end the request.
    ///
    /// - Returns: The response with any status. A caller that stops reading the body closes the connection.
    /// - Throws: An ``AccountError`` if there is no token or no response, or if the authority sends no requests.
    func forward(_ request: ForwardedRequest, with tokens: RequestTokens) async throws -> ForwardedResponse

    // MARK: Explanations

    /// The network settings that apply to the service, such as a proxy. Reading this property sends no request.
    var networkSettings: [NetworkSetting] { get }

    /// Returns how far the service's clock is ahead of this machine's clock, to within about a second; `nil` if the
    /// difference is unknown.
    func clockOffset() async throws -> Duration?
}

/// A scope or parameter with which the next sign-in may obtain a refresh token.
package enum RefreshTokenAdvice: Sendable, Equatable {
    /// A scope that the service lists, but that the sign-in did not request.
    case scope(String)

    /// A parameter that the sign-in did not send with its authorization request.
    case parameter(name: String, value: String)
}

/// A network setting of the machine, to explain why a service cannot be reached.
package struct NetworkSetting: Sendable, Hashable {
    package var variable: String

    /// The value, without a password.
    package var value: String

    package var effect: String
    package var problem: String?

    package init(variable: String, value: String, effect: String, problem: String? = nil) {
        self.variable = variable
        self.value = value
        self.effect = effect
        self.problem = problem
    }
}
