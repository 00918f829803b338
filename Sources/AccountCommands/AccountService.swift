public import AccountKit

/// A service, with the options of a sign-in.
public struct AccountService: Sendable, Equatable, Codable {
    /// The name of one of the app's ``AccountApplication/services``, such as `github`; `nil` if the user passed only a URL.
    public internal(set) var name: String?

    /// The URL of an API whose authorization server the user signs in to (RFC 9728); `nil` if the user named the
    /// service itself. An app creates an authority that asks the API, such as an `OAuthAuthority`.
    public var url: String?

    /// The issuer's URL (RFC 8414, section 2). Next to ``url``, the authorization server that the user named, or the one
    /// that issued the account. If the user chose a service by its ``name``, the issuer of its description, unless the user
    /// named another address.
    public var issuer: String?

    /// Whether the user named the ``issuer`` next to the ``url``, so that the next sign-in at this URL uses it again.
    package var isIssuerNamed: Bool?

    /// The client ID of the app at the service (RFC 6749, section 2.2).
    public var clientID: String?

    /// The scopes to request, in addition to the authority's default scopes or instead of them.
    package var scopes: [String] = []

    /// Whether to request the authority's default scopes as well.
    package var usesDefaultScopes = true

    /// The scopes that replace the authority's default scopes; `nil` if the defaults are requested as well.
    public var exactScopes: [String]? { usesDefaultScopes ? nil : scopes }

    /// The scopes to request in addition to the authority's default scopes.
    public var additionalScopes: [String] { usesDefaultScopes ? scopes : [] }

    /// The redirect URI, for a service that accepts only registered URIs. With `nil`, the authority chooses the URI.
    public var redirectURI: String?

    /// The `audience` of the tokens, for services that support this parameter.
    public var audience: String?

    /// The APIs that the tokens are for (RFC 8707).
    public var resources: [String] = []

    /// Further parameters of the authorization request, such as `prompt` or `login_hint`.
    public var parameters: [String: String] = [:]

    /// The method by which the client sends its secret: `client_secret_basic` or `client_secret_post` (OpenID Connect
    /// Core, section 9). With `nil`, the authority chooses the method.
    public var clientAuthentication: String?

    /// The URL of a client ID metadata document (draft-ietf-oauth-client-id-metadata-document).
    public internal(set) var clientMetadataURL: String?

    /// Whether a sign-in binds the tokens to a key of the session (RFC 9449). With `nil`, the authority decides.
    public var bindsTokens: Bool?

    /// Whether requests leave out the parameter `resource` (RFC 8707), because the service refuses it. With `nil`, the
    /// authority decides.
    public var omitsResource: Bool?

    /// Whether to register the app again with a service that registers apps (RFC 7591). It is not stored.
    package var registersAgain = false

    /// The user name, for a service that does not identify the user. This property is not stored.
    public var username: String?

    /// The client secret that the user entered, or the one in `<PREFIX>_CLIENT_SECRET` if it may belong to this client.
    /// AccountKit encrypts the secret and stores it with the account, not with the service. For a client without a user,
    /// it is not stored.
    public var clientSecret: Secret?

    /// The absolute path of the private key with which the client authenticates, instead of with a secret; `nil` without
    /// a key. The account of a client contains the path, so it is not stored with the service.
    public internal(set) var clientKeyPath: String?

    /// The key ID in the assertions that the key signs (RFC 7515, section 4.1.4).
    public internal(set) var clientKeyID: String?

    /// The audience of these assertions, or of the assertions of a workload. With `nil`, it is the issuer.
    public internal(set) var clientAssertionAudience: String?

    /// The source of the assertions of a workload, as words; `nil` for other sign-ins. The account contains the source,
    /// so it is not stored with the service.
    package var workload: [String]?

    /// The grant of a sign-in with an assertion, or its `grant_type`. If `nil`, the authority chooses it.
    package var workloadGrant: String?

    /// Whether the commands may send a client secret from the environment to this service. They send it at a sign-in,
    /// and for an account that is stored without its client secret, if the user chose its session. Other
    /// accounts contain their client secret. This property is not stored.
    private(set) var acceptsGivenSecret = true

    /// Creates a service, with the issuer, the client ID of the app there, and the ``url`` of an API.
    public init(issuer: String? = nil, clientID: String? = nil, url: String? = nil) {
        self.issuer = issuer
        self.clientID = clientID
        self.url = url
    }

    /// Creates the service of an account, with the requested scopes instead of the granted scopes.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - remembered: The service of the last sign-in, which is used only if its issuer is the account's issuer.
    ///   - acceptsGivenSecret: Whether the client secret in the environment may belong to the account.
    init(of account: Account, remembered: AccountService?, acceptsGivenSecret: Bool = false) {
        self = remembered?.issuer == account.issuer ? remembered ?? AccountService() : AccountService()
        // Another program may have signed in since then, for another API.
        let resources = account.credentials.resources
        if let url, !resources.isEmpty,
            !resources.contains(where: { self.resources.contains($0) || Self.covers($0, url) })
        {
            self.url = nil
        }
        issuer = account.issuer
        clientID = account.credentials.clientID
        let isUnknown = account.credentials.clientSecret == .unknown && account.credentials.machine == nil
        self.acceptsGivenSecret = acceptsGivenSecret && isUnknown
        clientKey = account.credentials.machine?.key
        workload = account.credentials.machine?.workload
        if workload != nil { clientAssertionAudience = account.credentials.machine?.assertionAudience }
        workloadGrant = workload == nil ? nil : account.credentials.machine?.type
    }

    /// Adds the client secret in the environment if it may belong to this client. By the URL of an API and without a client
    /// ID, the tool registers itself.
    mutating func accept(_ secret: Secret) {
        guard acceptsGivenSecret, clientSecret == nil, url == nil || clientID != nil else { return }
        clientSecret = secret
    }

    private static func covers(_ resource: String, _ url: String) -> Bool {
        if resource == url { return true }
        let (resource, url) = (resource.prefix { $0 != "?" }, url.prefix { $0 != "?" })
        guard let resource = try? RuleURL(String(resource)), let url = try? RuleURL(String(url)) else { return false }
        return resource.covers(url)
    }

    /// The file with the client's key, and the options of its assertions.
    var clientKey: ClientKeyFile? {
        get {
            clientKeyPath.map { ClientKeyFile(path: $0, id: clientKeyID, audience: clientAssertionAudience) }
        }
        set {
            clientKeyPath = newValue?.path
            clientKeyID = newValue?.id
            clientAssertionAudience = newValue?.audience
        }
    }
}

extension AccountService {
    private enum CodingKeys: CodingKey {
        case name, issuer, clientID, scopes, usesDefaultScopes, redirectURI, audience, resources, parameters
        case clientAuthentication, url, clientMetadataURL, bindsTokens, isIssuerNamed, omitsResource
    }
}
