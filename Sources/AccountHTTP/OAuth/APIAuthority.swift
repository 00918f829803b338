public import AccountKit
import AccountSupport
public import Logging
import Synchronization

/// The authorization server of an API, for an app that knows only the URL of the API.
///
/// ```swift
/// let authority = try APIAuthority(
///     url: "https://api.example.com", client: .registration(in: container, name: "Notes"))
/// let account = try await store.signIn(with: authority) { signIn in print("Open \(signIn.url)") }
/// ```
///
/// A sign-in asks the API for its authorization server, scopes and resource identifier (RFC 9728), and reads the
/// metadata of the authorization server (RFC 8414). Creating the authority sends nothing. A signed-in account names its
/// service itself, so checks and refreshes do not ask the API again.
///
/// An API may name any authorization server. Unless you set the ``issuer``, AccountKit does not send it a secret, a key, an
/// assertion, a password or a token that the app or the user supplies, and its endpoints must be on its own server. A
/// ``KnownService`` may receive them, and has its own list of servers.
public struct APIAuthority: Sendable {
    /// The URL of the API.
    public var url: String { apiURL.description }

    /// The issuer that the app or the user chose; `nil` if the API names one.
    public let issuer: String?

    /// Whether the app or the user named the ``issuer``, and did not only choose among those that the API names.
    let isIssuerNamed: Bool

    /// How long a token request may take, from its first byte.
    public let tokenRequestTimeout: Duration

    let apiURL: ServiceURL
    private let client: OAuthClient
    private let scopes: [String]?
    private var additionalScopes: [String]
    private(set) var options: OAuthRequestOptions
    private let timeout: Duration
    let clock: (any WallClock)?
    private let logger: Logger?
    private let cache = Cache()

    /// Creates an authority for an API.
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
    ///   - timeout: How long a request may take.
    ///   - tokenRequestTimeout: How long a token request may take, from its first byte.
    ///   - clock: The source of the current date; `nil` for the clock of the machine.
    ///   - logger: Logs one line per request at debug level: method, host, path and status only.
    /// - Throws: `invalidArgument` with advice.
    public init(
        url: String, issuer: String? = nil, client: OAuthClient, scopes: [String]? = nil,
        additionalScopes: [String] = [], options: OAuthRequestOptions = OAuthRequestOptions(),
        timeout: Duration = .seconds(10), tokenRequestTimeout: Duration = .seconds(60),
        clock: (any WallClock)? = nil, logger: Logger? = nil
    ) throws(AccountError) {
        do throws(ServiceURL.Flaw) {
            apiURL = try ServiceURL(url)
        } catch {
            let isNameOnly = error == .noScheme && (try? ServiceURL("https://" + url)) != nil
            throw AccountError(
                .invalidArgument, "the URL of the API\(ServiceURL.shown(url)) \(error.text)",
                hint: isNameOnly ? "did you mean https://\(url)?" : nil)
        }
        if let issuer { _ = try Issuer(issuer) }
        try client.check()
        try options.check()
        self.issuer = issuer
        isIssuerNamed = issuer != nil
        self.client = client
        self.scopes = scopes
        self.additionalScopes = additionalScopes
        self.options = options
        self.timeout = timeout
        self.tokenRequestTimeout = tokenRequestTimeout
        self.clock = clock
        self.logger = logger
    }

    private init(_ other: APIAuthority, issuer: String?) {
        apiURL = other.apiURL
        self.issuer = issuer
        isIssuerNamed = other.isIssuerNamed
        client = other.client
        scopes = other.scopes
        additionalScopes = other.additionalScopes
        options = other.options
        timeout = other.timeout
        tokenRequestTimeout = other.tokenRequestTimeout
        clock = other.clock
        logger = other.logger
        cache.resource = other.cache.resource
    }

    private final class Cache: Sendable {
        private struct State {
            var resource: ProtectedResource?
            var signIn: OAuthAuthority?
            var ofAccount: (account: Account, authority: OAuthAuthority)?
            var requirement: AccessRequirement?
        }

        private let state = Mutex(State())

        var resource: ProtectedResource? {
            get { state.withLock(\.resource) }
            set { state.withLock { $0.resource = newValue } }
        }

        var signIn: OAuthAuthority? {
            get { state.withLock(\.signIn) }
            set { state.withLock { $0.signIn = newValue } }
        }

        var requirement: AccessRequirement? {
            get { state.withLock(\.requirement) }
            set { state.withLock { $0.requirement = newValue } }
        }

        var current: OAuthAuthority? { state.withLock { $0.signIn ?? $0.ofAccount?.authority } }

        /// The documents of the service are read once for each client.
        func authority(
            of account: Account, _ make: () throws(AccountError) -> OAuthAuthority
        ) throws(AccountError) -> OAuthAuthority {
            let known = state.withLock(\.ofAccount)
            if let known, known.account.issuer == account.issuer,
                known.account.credentials.clientID == account.credentials.clientID
            {
                return known.authority
            }
            let authority = try make()
            let kept = Account(id: account.id, issuer: account.issuer, credentials: account.credentials)
            state.withLock { $0.ofAccount = (kept, authority) }
            return authority
        }
    }

    // MARK: Discovery

    func protectedResource() async throws(AuthorityError) -> ProtectedResource {
        if let known = cache.resource { return known }
        let transport = HTTPTransport.shared.reaching(hostsNamedBy: apiURL)
        let (timeout, clock, logger) = (timeout, clock ?? SystemWallClock(), logger)
        let discovery = ResourceDiscovery(url: apiURL) { request throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
        var resource = try await discovery.resource()
        if !resource.namesServers {
            guard issuer == nil else {
                if let failure = resource.failure { throw failure }
                cache.resource = resource
                return resource
            }
            resource = try await findIssuer(resource)
        }
        cache.resource = resource
        return resource
    }

    /// Finds the issuer of an API that names none: its URL, or else its origin (Model Context Protocol, revision 2025-03-26,
    /// section "Authorization Base URL").
    ///
    /// The revision also defines default endpoints for servers without a discovery document. AccountKit does not use
    /// them: without a document, it knows neither that a service checks PKCE nor where the tokens of a session are renewed.
    private func findIssuer(_ resource: ProtectedResource) async throws(AuthorityError) -> ProtectedResource {
        let origin = ServiceURL(at: apiURL, path: "")
        var failures: [AuthorityError] = []
        for url in ["", "/"].contains(apiURL.path) && apiURL.query == nil ? [apiURL] : [apiURL, origin] {
            var named = resource
            named.authorizationServers = ["\(url)"]
            do throws(AuthorityError) {
                let authority = try signInAuthority(for: named)
                try await authority.documents.load()
                cache.signIn = authority
                return named
            } catch {
                if case .noResponse(.cancelled) = error { throw error }
                failures.append(error)
            }
        }
        // A document may be there after a temporary failure.
        guard failures.allSatisfy(\.isAbsence) else { throw failures.first { !$0.isAbsence } ?? failures[0] }
        if let failure = resource.failure { throw failure }
        let texts = (failures.map(\.answerText) + resource.answers).joined(separator: "; ")
        let isIntercepted = failures.allSatisfy { if case .intercepted = $0 { true } else { false } }
        throw isIntercepted ? .intercepted(texts) : .misconfigured(texts)
    }

    /// Returns the authority for a sign-in.
    func signInAuthority() async throws(AuthorityError) -> OAuthAuthority {
        if let known = cache.signIn { return known }
        let resource = try await protectedResource()
        if let known = cache.signIn { return known }
        let authority = try signInAuthority(for: resource)
        cache.signIn = authority
        return authority
    }

    private func signInAuthority(for resource: ProtectedResource) throws(AuthorityError) -> OAuthAuthority {
        do throws(AccountError) {
            return try authority(for: resource)
        } catch {
            throw .misconfigured(error.userText)
        }
    }

    private func authority(for resource: ProtectedResource) throws(AccountError) -> OAuthAuthority {
        let chosen = try chosenServer(of: resource)
        var named = try Issuer(chosen)
        // The user may type a URL with or without the slash. The path of an issuer from metadata has one spelling.
        named.form = knownForm(of: named) ?? (resource.namesServers ? .verbatim(chosen) : .exact)
        var options = options
        if let identifier = resource.identifier, !options.resources.contains(identifier) {
            options.resources.insert(identifier, at: 0)
        }
        if scopes == nil, let count = resource.scopes?.count, count > ProtectedResource.maximumScopeCount {
            throw AccountError(
                .misconfigured, "\(url) names more than \(ProtectedResource.maximumScopeCount) scopes",
                hint: "choose the scopes yourself (on a command line, with --no-default-scopes and --scope)")
        }
        var api = APIOrigin(
            url: apiURL, namer: isIssuerNamed ? nil : apiURL, scopes: resource.scopes, isIssuerGiven: isIssuerNamed)
        let service = knownService(at: named)
        if resource.scopes == nil, service == nil, scopes == nil {
            api.tentativeScopes = Set(["openid", "profile", "email"]).subtracting(additionalScopes)
        }
        return try OAuthAuthority(
            named, client: client, scopes: scopes, additionalScopes: additionalScopes, options: options,
            service: service, timeout: timeout, tokenRequestTimeout: tokenRequestTimeout, clock: clock, logger: logger,
            api: api)
    }

    private func chosenServer(of resource: ProtectedResource) throws(AccountError) -> String {
        let servers = resource.authorizationServers
        if let issuer {
            let given = try Issuer(issuer)
            if let named = servers.first(where: { given.isSame(as: $0) || (try? Issuer($0))?.url == given.url }) {
                return named
            }
            // The user may be the only one who names the service.
            guard resource.namesServers else { return issuer }
            throw AccountError(
                .misconfigured, "\(url) does not accept tokens of \(issuer)",
                hint: "choose one of its authorization servers: \(servers.joined(separator: ", "))")
        }
        guard servers.count == 1 else {
            throw AccountError(
                .misconfigured,
                "\(url) names \(servers.count) authorization servers: \(servers.joined(separator: ", "))",
                hint: "choose one (on a command line, with --issuer)")
        }
        return servers[0]
    }

    /// Returns the entry of an issuer. Another issuer at the same host may have other endpoints.
    private func knownService(at issuer: Issuer) -> KnownService? {
        KnownService.all.first { $0.issuer == issuer.identifier && $0.hasDiscovery }
    }

    /// Returns how a known service spells its issuers, for each tenant at its host; `nil` for other services.
    private func knownForm(of issuer: Issuer) -> Issuer.Form? {
        let form = KnownService.at(issuer)?.quirks.issuerForm
        return form == .exact ? nil : form
    }

    /// Returns the authority that issued an account's tokens.
    func authority(of account: Account) throws(AuthorityError) -> OAuthAuthority {
        guard let issuer = account.issuer, isAuthority(of: account) else {
            throw .misconfigured("the account is not for \(url), so its token is not used there")
        }
        do throws(AccountError) {
            return try cache.authority(of: account) { () throws(AccountError) in
                var options = options
                // An account that an app created itself names no resources.
                if !account.credentials.resources.isEmpty { options.resources = account.credentials.resources }
                let named = try Issuer(issuer)
                let service = knownService(at: named)
                return try OAuthAuthority(
                    Issuer(named.url, form: knownForm(of: named) ?? .exact), client: client, scopes: scopes,
                    additionalScopes: additionalScopes, options: options, service: service, timeout: timeout,
                    tokenRequestTimeout: tokenRequestTimeout, clock: clock, logger: logger,
                    api: APIOrigin(url: apiURL, namer: isIssuerNamed ? nil : apiURL, isIssuerGiven: true))
            }
        } catch {
            throw .misconfigured(error.userText)
        }
    }
}

// MARK: - The authority of the account

extension APIAuthority: AccountAuthority {
    /// Asks the service for the user of the access token. If the service cannot identify the user of this token, sends the
    /// token to the API itself; see `OAuthAuthority`.
    public func verify(_ account: Account) async throws -> Identity {
        let (identity, requirement) = try await authority(of: account).check(account)
        cache.requirement = requirement
        return identity
    }

    /// Exchanges the refresh token, for the resources of the sign-in.
    public func refresh(_ account: Account) async throws -> Credentials {
        try await authority(of: account).refresh(account)
    }

    /// Revokes the tokens of the account.
    public func revoke(_ account: Account) async throws -> RevocationOutcome {
        // Tokens that a sign-in could not store belong to no user yet.
        if let signIn = cache.signIn, signIn.isAuthority(of: account) { return try await signIn.revoke(account) }
        return try await authority(of: account).revoke(account)
    }

    /// The value of the last sign-in's service; `false` before the first sign-in.
    public var supportsPerGrantRevocation: Bool { cache.signIn?.supportsPerGrantRevocation ?? false }

    /// Returns whether a sign-in for this API obtained the account.
    public func isAuthority(of account: Account) -> Bool {
        guard let other = account.issuer else { return false }
        let resources = account.credentials.resources
        if resources.contains(where: { ProtectedResource.covers($0, apiURL) }) { return true }
        // An API without metadata has the URL of its issuer.
        if (try? Issuer(url))?.isSame(as: other) == true { return true }
        // The issuer may have issued the token for another API. An account that an app created itself names no resources.
        let requested = options.resources + (cache.signIn?.options.resources ?? [])
        guard resources.isEmpty || resources.contains(where: requested.contains) else { return false }
        if let signIn = cache.signIn, signIn.isAuthority(of: account) { return true }
        if let issuer { return (try? Issuer(issuer))?.isSame(as: other) ?? false }
        // The issuer of an API without metadata may have the same origin.
        return resources.isEmpty && Issuer(ServiceURL(at: apiURL, path: ""), form: .exact).isSame(as: other)
    }

    /// The issuer of the last sign-in, or the chosen one; `nil` before the first sign-in.
    public var accountIssuer: String? {
        cache.signIn?.issuer ?? issuer.map { (try? Issuer($0))?.identifier ?? $0 }
    }
}

extension APIAuthority: ServiceAuthority {
    package func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
        try await authority(of: account).prepare(request, of: account)
    }
}

extension APIAuthority {
    package var derivesTokens: Bool { true }

    /// Returns the grant used to obtain a token for a target.
    package func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        try await authority(of: account).tokenDerivation(for: target, of: account)
    }

    /// Requests an access token for a target.
    package func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials {
        try await authority(of: account).exchangeToken(for: target, of: account, by: derivation)
    }
}

extension APIAuthority {
    package var networkSettings: [NetworkSetting] { HTTPTransport.shared.environment.settings(for: apiURL) }
}

extension APIAuthority {
    package func endSessionURL() async -> String? { await cache.current?.endSessionURL() }
}

extension APIAuthority {
    package func clockOffset() async throws -> Duration? {
        let clock = clock ?? SystemWallClock()
        return try await HTTPTransport.shared.send(
            ServiceRequest(url: ServiceURL(at: apiURL, path: "/.well-known/oauth-protected-resource")),
            timeout: timeout,
            clock: clock, logger: logger
        ).clockOffset
    }
}

// MARK: - Discovery and registration

extension APIAuthority {
    package func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice? {
        await cache.signIn?.refreshTokenAdvice(usesBrowser: usesBrowser)
    }

    package func signInScopes() async -> [String] { await cache.signIn?.signInScopes() ?? [] }
}

extension APIAuthority {
    package var hasRejectedRegistration: Bool { cache.signIn?.hasRejectedRegistration ?? false }

    package func removeRegistration(
        of account: Account, unless isUsed: () async throws -> Bool
    ) async throws(AccountError) {
        let authority: OAuthAuthority
        do throws(AuthorityError) {
            authority = try self.authority(of: account)
        } catch {
            throw AccountError(signIn: error, advice: "nothing was changed")
        }
        try await authority.removeRegistration(of: account, unless: isUsed)
    }

    package var hasReplacedRegistration: Bool { cache.signIn?.hasReplacedRegistration ?? false }

    package func removeReplacedRegistration(
        unless isUsed: (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {
        try await cache.signIn?.removeReplacedRegistration(unless: isUsed)
    }
}

extension APIAuthority {
    package var namingAPI: String? { url }

    package var unmetRequirement: AccessRequirement? { cache.requirement }

    package func signInResources() async throws(AccountError) -> [String] {
        do throws(AuthorityError) {
            return try await signInAuthority().options.resources
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
    }

    package func authorizationServers() async throws(AccountError) -> [String] {
        do throws(AuthorityError) {
            return try await protectedResource().authorizationServers.map { (try? Issuer($0))?.identifier ?? $0 }
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
    }

    package func choosing(issuer: String) -> any ServiceAuthority { APIAuthority(self, issuer: issuer) }

    package func requiresClientID() async throws(AccountError) -> Bool {
        do throws(AuthorityError) {
            return try await signInAuthority().requiresClientID()
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
    }

    package func serviceDocumentation() async throws(AccountError) -> String? {
        do throws(AuthorityError) {
            return try await signInAuthority().documents.documentation()
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
    }

    package func adding(
        _ requirement: AccessRequirement, grantedTo account: Account
    ) throws(AccountError) -> any ServiceAuthority {
        let credentials = account.credentials
        let granted = credentials.signInScopes.isEmpty ? credentials.scopes : credentials.signInScopes
        let missing = requirement.scopes.filter { !granted.contains($0) }
        guard !missing.isEmpty || requirement.needsAuthentication else {
            throw AccountError(
                .insufficientScope, "the service has already granted what \(url) requires (\(requirement))",
                hint: "ask the operator of the API why it does not accept the token", cause: nil)
        }
        var result = self
        result.additionalScopes += (granted + missing).filter { !result.additionalScopes.contains($0) }
        let acrValues = requirement.acrValues
        result.options.parameters["acr_values"] = acrValues.isEmpty ? nil : acrValues.joined(separator: " ")
        result.options.parameters["max_age"] = requirement.maxAge.map { "\($0.components.seconds)" }
        return APIAuthority(result, issuer: issuer)
    }

    package func requirement(for account: Account) async throws(AccountError) -> AccessRequirement? {
        guard account.credentials.resources.contains(where: { ProtectedResource.covers($0, apiURL) }) else {
            throw AccountError(
                .misconfigured, "the token of this account is not for \(url), so it is not sent there",
                hint: "name the scopes with --scope")
        }
        var request = ServiceRequest(url: apiURL)
        request.bodyLimit = 0
        if let problem = audienceProblem(of: account.credentials) { throw problem }
        do throws(AuthorityError) {
            try request.authorize(with: account.credentials)
            let response = try await HTTPTransport.shared.send(
                request, timeout: timeout, clock: clock ?? SystemWallClock(), logger: logger)
            return AccessRequirement(response, hiding: request.secrets)
        } catch {
            throw AccountError(request: error, to: url)
        }
    }
}
