import AccountKit

/// The deviations of a service from OAuth 2.0 and OpenID Connect.
struct ServiceQuirks: Sendable, Hashable {
    static let standard = ServiceQuirks()

    var issuerForm = Issuer.Form.exact
    var subjectClaim = "sub"

    var usernameClaims = ["preferred_username", "username"]

    /// The claims that become profile fields, with the names of the fields. If `nil`, all claims become fields with the
    /// same names.
    var profileClaims: [String: String]?

    var scopeSeparator: Character = " "

    var signInErrorCodes: [String: OAuthErrorCode] = [:]

    /// The service's own error codes in responses to a refresh, and the standard codes that they mean. The list is
    /// separate from ``signInErrorCodes``, because an error at a refresh can end a session.
    var refreshErrorCodes: [String: OAuthErrorCode] = [:]

    var errorStatuses: Set<Int> = [400, 401, 403]

    /// The host of the redirect URI. The default is an address instead of a name (RFC 8252, section 8.3).
    var redirectHost = "127.0.0.1"

    /// The method to use if the service's documents do not determine it.
    var clientAuthentication: ClientAuthentication?

    /// The documented response of the user info endpoint to an invalid token, if it is not a Bearer challenge.
    var deadTokenResponse: DeadTokenResponse?

    struct DeadTokenResponse: Sendable, Hashable {
        var status: Int
        var member: String
        var value: String
    }

    /// Whether the service refuses the parameter `resource` (RFC 8707). Only the scopes then name the API.
    var refusesResource = false

    var authorizationParameters: [String: String] = [:]
}
