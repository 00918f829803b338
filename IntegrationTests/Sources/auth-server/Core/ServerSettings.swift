/// The settings of the example server, which are constant while it runs.
struct ServerSettings: Sendable {
    /// The service that the server imitates, if any.
    var personality: Personality = Personality()
    /// The only client of the OAuth endpoints.
    var clientID = "account-cli"
    /// The client's secret. Without one, the client is public (RFC 6749, section 2.1).
    var clientSecret: ClientSecret?
    /// Checks the client's assertions, if the client authenticates with a key instead of with a secret.
    var clientAssertions: ClientAssertions?
    /// Checks the assertions of workloads, or `nil` if the server accepts none.
    var workloads: WorkloadAssertions?
    /// The redirect URIs, compared exactly. If there are none, the server accepts any port of the loopback interface
    /// with the path `/callback`.
    var redirectURIs: [String] = []
    /// The known resources. If there are any, every token request must specify one of them. Otherwise a request may
    /// specify any resource or none.
    var resources: [String] = []
    /// The audience that every sign-in must specify.
    var audience: String?
    /// The audiences for token exchange (RFC 8693). If there are none, the server does not support this grant.
    var exchangeAudiences: [String] = []
    /// The lifetime of access tokens, in seconds.
    var accessTokenLifetime = 3600
    /// Whether a refresh returns a new refresh token and spends the old one.
    var rotatesRefreshTokens = true
    /// Whether a refresh also spends the access token that was issued with the old refresh token.
    var rotatesAccessTokens = false
    /// Which sign-ins get a refresh token.
    var refreshTokens = RefreshTokenPolicy.always
    /// Whether revoking a token ends the whole session or that token only.
    var revocationEndsSignIn = true
    /// Whether the reuse of a spent refresh token ends the session.
    var detectsReuse = true
    /// The lifetime of an authorization code, in seconds.
    var authorizationCodeLifetime = 60
    /// The lifetime of a device code, in seconds.
    var deviceCodeLifetime = 600
    /// The minimum time between two polls of a device, in seconds.
    var deviceInterval = 5
    var users = UserDirectory()
    /// Whether clients connect over TLS, which determines the scheme of the issuer.
    var usesTLS = false
    /// The API that names this server, if there is one.
    var api: APISettings?
    /// Whether clients can bind tokens to a key, unless the imitated service has its own rule.
    var chosenProofs = ProofPolicy.off
    /// How clients register themselves, or `nil` if they cannot.
    var registration: RegistrationSettings?
    /// Whether a client ID may be the URL of a metadata document.
    var acceptsClientMetadata = false
    /// The clients that registered themselves.
    let clients = ClientDirectory()
    /// A host name that the server accepts in addition to the loopback interface.
    var name: String?

    /// Whether clients can bind tokens to a key.
    var proofs: ProofPolicy { personality.proofs ?? chosenProofs }

    /// The supported grant types.
    var grantTypes: [TokenRoutes.GrantType] {
        personality.grantTypes.filter { type in
            switch type {
            case .tokenExchange: !exchangeAudiences.isEmpty || workloads != nil
            case .jwtBearer: workloads != nil
            // RFC 6749, section 4.4: only confidential clients may use this grant.
            case .clientCredentials: clientSecret != nil || clientAssertions != nil || workloads != nil
            default: true
            }
        }
    }

    /// What happens to a refresh token after it is exchanged, unless the imitated service has its own rule.
    var rotation: TokenRules.Rotation {
        guard rotatesRefreshTokens else { return .off }
        return rotatesAccessTokens ? .spendsBoth : .spends
    }

    /// The scope for a client that requests none.
    var defaultScope: Scope {
        guard refreshTokens == .offlineAccess else { return personality.defaultScope }
        return Scope(names: personality.defaultScope.names.filter { $0 != "offline_access" })
    }
}

/// The sign-ins that receive a refresh token, unless the imitated service has its own rule.
enum RefreshTokenPolicy: String, CaseIterable, Sendable {
    case always
    /// Sign-ins that requested the scope `offline_access`.
    ///
    /// Source: OpenID Connect Core 1.0, section 11.
    case offlineAccess = "offline-access"
    case never
}
