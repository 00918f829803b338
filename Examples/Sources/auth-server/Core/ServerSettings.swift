/// How the example server behaves for as long as it runs.
struct ServerSettings: Sendable {
    /// Which service it resembles, if any.
    var manner: any Manner = StandardManner()
    /// The one client of the OAuth endpoints: a public client, which has no secret (RFC 6749, section 2.1).
    var clientID = "account-cli"
    /// How long an access token is accepted, in seconds.
    var accessTokenLifetime = 3600
    /// Whether a refresh brings a new refresh token, after which the old one is spent.
    var rotatesRefreshTokens = true
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
}
