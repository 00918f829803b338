/// How the example server behaves for as long as it runs.
struct ServerSettings: Sendable {
    /// Which service it resembles, if any.
    var quirks: any ServiceQuirks = StandardQuirks()
    /// The one client of the OAuth endpoints.
    var clientID = "account-cli"
    /// Its secret; without one it is a public client (RFC 6749, section 2.1).
    var clientSecret: ClientSecret?
    /// The addresses that a browser may be sent back to, exactly as they are written; when there are none, any port of the
    /// loopback interface with the path `/callback`.
    var redirectURIs: [String] = []
    /// The resources that there are, of which every request for tokens has to name one; when there are none, none need be
    /// named, and any may.
    var resources: [String] = []
    /// What every sign-in has to name as its audience.
    var audience: String?
    /// The audiences that an access token can be exchanged for (RFC 8693); when there are none, there is no such grant.
    var exchangeAudiences: [String] = []
    /// How long an access token is accepted, in seconds.
    var accessTokenLifetime = 3600
    /// Whether a refresh brings a new refresh token, after which the old one is spent.
    var rotatesRefreshTokens = true
    /// Whether the access token that a spent refresh token came with is spent too.
    var rotatesAccessTokens = false
    /// Which sign-ins bring a refresh token.
    var refreshTokens = RefreshTokenPolicy.always
    /// Whether revoking a token ends its whole sign-in, or that token alone.
    var revocationEndsSignIn = true
    /// Whether a spent refresh token that comes back ends its sign-in.
    var detectsReuse = true
    /// How long the code of the browser flow is accepted, in seconds.
    var authorizationCodeLifetime = 60
    /// How long a device code is accepted, in seconds.
    var deviceCodeLifetime = 600
    /// How long a device must wait between two polls, in seconds.
    var deviceInterval = 5
    var users = UserDirectory()
    /// Whether clients connect over TLS, which decides the scheme of the issuer.
    var usesTLS = false
    /// A host that requests may be for, besides the loopback interface.
    var name: String?

    /// The ways to get a token that there are.
    var grantTypes: [TokenRoutes.GrantType] {
        quirks.grantTypes.filter { $0 != .tokenExchange || !exchangeAudiences.isEmpty }
    }

    /// What becomes of a refresh token that was exchanged, where the service resembled leaves that open.
    var rotation: TokenRules.Rotation {
        guard rotatesRefreshTokens else { return .off }
        return rotatesAccessTokens ? .spendsBoth : .spends
    }

    /// What a client gets that does not ask for anything in particular.
    var defaultScope: Scope {
        guard refreshTokens == .offlineAccess else { return quirks.defaultScope }
        return Scope(names: quirks.defaultScope.names.filter { $0 != "offline_access" })
    }
}

/// Which sign-ins bring a refresh token, where the service resembled leaves that open.
enum RefreshTokenPolicy: String, CaseIterable, Sendable {
    case always
    /// Those that asked for the scope `offline_access`.
    ///
    /// Source: OpenID Connect Core 1.0, section 11.
    case offlineAccess = "offline-access"
    case never
}
