import HTTPTypes
import Hummingbird

/// The behavior of the server: according to the standards, or with the quirks of a well-known service.
///
/// A client for many services must handle their differences. Each implementation imitates only the differences that the
/// service documents.
protocol ServiceQuirks: Sendable {
    var endpoints: Endpoints { get }
    var grantTypes: [TokenRoutes.GrantType] { get }
    /// All scope names.
    var scope: Scope { get }
    /// The scope for a client that requests none.
    var defaultScope: Scope { get }
    /// Whether the redirect to the client includes `iss` (RFC 9207).
    var namesIssuerInResponses: Bool { get }
    /// Whether revoking an unknown token is an error, contrary to RFC 7009.
    var refusesToRevokeUnknownTokens: Bool { get }

    /// Whether the service accepts the redirect URI.
    func allows(_ redirectURI: RedirectURI) -> Bool
    /// Whether a client must send a secret, although it cannot keep one.
    func needsSecret(for grantType: TokenRoutes.GrantType) -> Bool
    /// Whether a sign-in gets a refresh token.
    ///
    /// - Parameter browserParameters: The client's parameters if the user signed in with the browser.
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool
    /// The rules for tokens. The settings apply where the service has no rule.
    func tokenRules(_ settings: ServerSettings) -> TokenRules

    /// The server's real issuer.
    func issuer(for origin: Origin) -> String
    /// The issuer in the discovery document.
    func discoveredIssuer(for origin: Origin) -> String
    /// The service's opaque identifier of a user.
    func subject(of user: User) -> String
    /// The user info for the holder of a token.
    ///
    /// - Returns: `nil` if the scope is insufficient.
    func userInfo(of user: User, scope: Scope) -> JSONObject?
    /// A refusal that is independent of the token.
    func refusal(ofUserInfoRequest headers: HTTPFields) -> Response?

    /// Whether the holder of a token may change gists.
    func allowsGists(_ scope: Scope) -> Bool

    // Each of these functions receives the standard's value and returns the service's.
    func discovery(_ document: JSONObject) -> JSONObject
    func deviceResponse(_ response: JSONObject) -> JSONObject
    func tokenResponse(_ tokens: TokenSet) -> JSONObject
    func idTokenClaims(_ claims: JSONObject, origin: Origin) -> JSONObject
    func response(to error: OAuthError) -> ErrorResponse
    func response(to challenge: BearerChallenge) -> ErrorResponse
    /// The body for an unknown path, or `nil` for the default.
    var notFound: JSONObject? { get }
    /// Encodes a response from the token or device authorization endpoint in the format that the client accepts.
    func encode(_ response: JSONObject, status: HTTPResponse.Status, for request: Request) throws -> Response
}

/// The standards, optionally with lax refusals of user info.
struct StandardQuirks: ServiceQuirks {
    /// How user info reports an invalid token.
    enum Refusal: String, CaseIterable, Sendable {
        /// The response contains a challenge, as in RFC 6750.
        case challenge
        /// Only the body of the response contains the error.
        case body
        /// Only the status indicates the error.
        case none
    }

    var refusal = Refusal.challenge

    func response(to challenge: BearerChallenge) -> ErrorResponse {
        var response = challenge.standardResponse
        if refusal != .challenge { response.challenge = nil }
        if refusal == .none { response.body = nil }
        return response
    }
}

// MARK: - Standard behavior

extension ServiceQuirks {
    var endpoints: Endpoints { Endpoints() }
    var grantTypes: [TokenRoutes.GrantType] { TokenRoutes.GrantType.allCases }
    var scope: Scope { .all }
    var defaultScope: Scope { scope }
    var namesIssuerInResponses: Bool { true }
    var refusesToRevokeUnknownTokens: Bool { false }
    var notFound: JSONObject? { nil }

    func allows(_ redirectURI: RedirectURI) -> Bool { true }
    func needsSecret(for grantType: TokenRoutes.GrantType) -> Bool { false }
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool { true }

    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(
            lifetime: settings.accessTokenLifetime,
            rotation: settings.rotation,
            detectsReuse: settings.detectsReuse
        )
    }

    func issuer(for origin: Origin) -> String { origin.text }
    func discoveredIssuer(for origin: Origin) -> String { issuer(for: origin) }
    func subject(of user: User) -> String { user.subject }

    func userInfo(of user: User, scope: Scope) -> JSONObject? {
        guard scope.contains("openid") else { return nil }
        return user.claims(for: scope).merging(["sub": .string(subject(of: user))]) { _, new in new }
    }

    func refusal(ofUserInfoRequest headers: HTTPFields) -> Response? { nil }
    func allowsGists(_ scope: Scope) -> Bool { true }
    func discovery(_ document: JSONObject) -> JSONObject { document }
    func deviceResponse(_ response: JSONObject) -> JSONObject { response }
    func tokenResponse(_ tokens: TokenSet) -> JSONObject { tokens.response }
    func idTokenClaims(_ claims: JSONObject, origin: Origin) -> JSONObject { claims }
    func response(to error: OAuthError) -> ErrorResponse { error.standardResponse }
    func response(to challenge: BearerChallenge) -> ErrorResponse { challenge.standardResponse }

    func encode(_ response: JSONObject, for request: Request) throws -> Response {
        try encode(response, status: .ok, for: request)
    }

    func encode(_ response: JSONObject, status: HTTPResponse.Status, for request: Request) throws -> Response {
        try .json(response, status: status, headers: .neverStored)
    }
}
