import AccountKit
import AccountSupport
import Logging

/// The connection to one service: its issuer, its documents, and how requests are sent to it.
final class ServiceConnection: Sendable {
    let issuer: Issuer

    /// The entry of the service, if AccountKit has one.
    let known: KnownService?

    /// The entry of the service, also for an issuer without an entry at the same host, such as a tenant.
    let serviceAtHost: KnownService?

    /// Differences for an issuer that an API named; `nil` for one that the app or the user named.
    let api: APIOrigin?

    let options: OAuthRequestOptions
    let timeout: Duration
    let tokenRequestTimeout: Duration
    let clock: any WallClock
    let logger: Logger?
    let transport: HTTPTransport
    let discovery: Discovery
    let documents: ServiceDocuments

    /// - Parameter endpoints: The endpoints of a service without a discovery document; `nil` to discover them.
    init(
        to issuer: Issuer, _ known: KnownService?, endpoints: OAuthEndpoints?, api: APIOrigin?,
        _ settings: OAuthSettings
    ) throws(AccountError) {
        let (timeout, clock, logger) = (settings.timeout, settings.clock, settings.logger)
        guard timeout > .zero, settings.tokenRequestTimeout > .zero else {
            throw AccountError(.invalidArgument, "the timeout must be greater than zero")
        }
        self.issuer = issuer
        self.known = known
        serviceAtHost = known ?? KnownService.at(issuer)
        self.api = api
        options = settings.options
        self.timeout = timeout
        tokenRequestTimeout = settings.tokenRequestTimeout
        self.clock = clock
        self.logger = logger
        let transport = api?.namer.map { HTTPTransport.shared.reaching(hostsNamedBy: $0) } ?? HTTPTransport.shared
        self.transport = transport
        let discovery = Discovery(
            issuer: issuer, service: known, isFromAPI: api != nil,
            isLimitedToOwnServer: api.map { !$0.isIssuerGiven } ?? false)
        self.discovery = discovery
        documents = ServiceDocuments(
            discovery, endpoints: endpoints ?? (known?.hasDiscovery == false ? known?.endpoints(at: issuer) : nil)
        ) { request async throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
    }

    /// The issuer identifier, as stored in accounts: scheme and host in lower case, without a trailing slash.
    var name: String { issuer.identifier }

    var quirks: ServiceQuirks { serviceAtHost?.quirks ?? .standard }

    /// Whether the URL of the API is the issuer itself.
    var isAPI: Bool { api.map { issuer.isSame(as: $0.url.description) } ?? false }

    /// Whether the app or the user named the issuer, also by the URL of an API that is the issuer itself.
    var isGiven: Bool { api?.isIssuerGiven ?? true || isAPI }

    /// Whether only an API names the issuer, and not the app, the user or the entry of a known service.
    var isNamedByAPIOnly: Bool { !isGiven && known == nil }

    func send(_ request: ServiceRequest) async throws(AuthorityError) -> ServiceResponse {
        try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
    }

    // MARK: Accounts

    /// Returns whether the service issued the account's tokens.
    func isIssuer(of account: Account) -> Bool { account.issuer.map { issuer.isSame(as: $0) } ?? false }

    /// Throws an error if the account belongs to another service, because AccountKit sends a token only to the service
    /// that issued it.
    func checkIssuer(of account: Account) throws(AuthorityError) {
        guard let other = account.issuer else {
            throw .misconfigured("the account does not name its service, so its token is not sent to \(name)")
        }
        guard issuer.isSame(as: other) else {
            throw .misconfigured("the account belongs to \(other), so its token is not sent to \(name)")
        }
    }

    // MARK: Resources (RFC 8707)

    /// Whether the requests of a sign-in leave out the parameter `resource`.
    var omitsResource: Bool { options.omitsResource || quirks.refusesResource }

    /// The resources that the requests of a sign-in name.
    var sentResources: [String] { omitsResource ? [] : options.resources }

    /// Returns whether requests for the tokens of an account leave out the parameter `resource`.
    func omitsResource(for account: Account) -> Bool { account.credentials.omitsResource || omitsResource }

    /// Returns the resources that a request for the tokens of an account names.
    func sentResources(of account: Account) -> [String] {
        omitsResource(for: account) ? [] : account.credentials.resources
    }

    /// Returns the resources of the sign-in. An account that an app created itself names none.
    func resources(of account: Account) -> [String] {
        account.credentials.resources.isEmpty ? options.resources : account.credentials.resources
    }

    // MARK: Explanations

    func endSessionURL() async -> String? {
        do {
            return try await documents.endpoint(.endSession)?.url.description
        } catch {
            logger?.debug("the sign-out page is unknown", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Requests the discovery document for its `Date` field, which even a 404 response contains (RFC 9110, section
    /// 6.6.1).
    func clockOffset() async throws(AuthorityError) -> Duration? {
        try await send(ServiceRequest(url: discovery.urls[0])).clockOffset
    }
}
