import AccountKit

/// How the messages of a service differ from those of OAuth 2.0 and OpenID Connect.
struct ServiceQuirks: Sendable, Hashable {
    static let standard = ServiceQuirks()

    var issuerForm = Issuer.Form.exact
    var subjectClaim = "sub"

    /// The claims with the name that the user is known by; the first that is there counts.
    var usernameClaims = ["preferred_username", "username"]

    /// The claims that become fields of the profile, and the fields' names; `nil` takes all under their own.
    var profileClaims: [String: String]?

    var scopeSeparator: Character = " "

    /// Error codes of its own at a sign-in, and the standard's for the same thing.
    var signInErrorCodes: [String: OAuthErrorCode] = [:]

    /// The same at a refresh, where one of them may end a session: only what is said of the refresh token itself.
    var refreshErrorCodes: [String: OAuthErrorCode] = [:]

    var errorStatuses: Set<Int> = [400, 401, 403]

    /// The host of the URL that the browser is sent back to: an address, not a name (RFC 8252, section 8.3).
    var redirectHost = "127.0.0.1"

    /// How the service wants the client secret, where its documents do not decide it.
    var clientAuthentication: ClientAuthentication?

    /// What user info responds to a token that is not valid any more, where that is documented and no Bearer challenge.
    var deadTokenResponse: DeadTokenResponse?

    struct DeadTokenResponse: Sendable, Hashable {
        var status: Int
        var member: String
        var value: String
    }

    /// Further parameters of the page to open.
    var authorizationParameters: [String: String] = [:]
}
