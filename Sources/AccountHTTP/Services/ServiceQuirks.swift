import AccountKit

/// How the messages of a service differ from those of OAuth 2.0 and OpenID Connect.
struct ServiceQuirks: Sendable, Hashable {
    static let standard = ServiceQuirks()

    var issuerForm = Issuer.Form.exact
    var subjectClaim = "sub"

    /// The first that is present counts.
    var usernameClaims = ["preferred_username", "username"]

    /// Claims that become fields of the profile, and the fields' names; `nil` keeps all under their own.
    var profileClaims: [String: String]?

    var scopeSeparator: Character = " "

    /// The service's own error codes at a sign-in, and the standard codes for the same.
    var signInErrorCodes: [String: OAuthErrorCode] = [:]

    /// At a refresh, where one may end a session: only what is said of the refresh token itself.
    var refreshErrorCodes: [String: OAuthErrorCode] = [:]

    var errorStatuses: Set<Int> = [400, 401, 403]

    /// Of the redirect URI: an address rather than a name (RFC 8252, section 8.3).
    var redirectHost = "127.0.0.1"

    /// Where the service's documents do not decide it.
    var clientAuthentication: ClientAuthentication?

    /// The documented response of user info to an invalid token, where that is no Bearer challenge.
    var deadTokenResponse: DeadTokenResponse?

    struct DeadTokenResponse: Sendable, Hashable {
        var status: Int
        var member: String
        var value: String
    }

    /// Further parameters of the authorization request.
    var authorizationParameters: [String: String] = [:]
}
