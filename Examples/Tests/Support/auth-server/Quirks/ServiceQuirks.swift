import HTTPTypes
import Hummingbird

/// How the server responds: as the standards say, or with the peculiarities of a well-known service.
///
/// A client for many services has to cope with what they do differently. Each of these imitates what the documentation of
/// one service says about that, and nothing else of it.
protocol ServiceQuirks: Sendable {
    var endpoints: Endpoints { get }
    var grantTypes: [TokenRoutes.GrantType] { get }
    /// Every scope there is.
    var scope: Scope { get }
    /// What a client gets that does not ask for anything in particular.
    var defaultScope: Scope { get }
    /// Whether a browser is sent back with `iss` (RFC 9207).
    var namesIssuerInResponses: Bool { get }
    /// Whether revoking a token that is not known is an error, which RFC 7009 says it is not.
    var refusesToRevokeUnknownTokens: Bool { get }

    /// Whether a browser may be sent back there.
    func allows(_ redirectURI: RedirectURI) -> Bool
    /// Whether a client has to send a secret, although it cannot keep one.
    func needsSecret(for grantType: TokenRoutes.GrantType) -> Bool
    /// Whether a sign-in brings a refresh token.
    ///
    /// - Parameter browserParameters: what the client sent along with the browser, if the user came that way.
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool
    /// What tokens are like; the settings decide where the service leaves a choice.
    func tokenRules(_ settings: ServerSettings) -> TokenRules

    /// The issuer as the server really is called.
    func issuer(for origin: Origin) -> String
    /// The issuer as discovery says it.
    func discoveredIssuer(for origin: Origin) -> String
    /// What the service calls a user whose name it does not want to give away.
    func subject(of user: User) -> String
    /// What the holder of a token is told about the user.
    ///
    /// - Returns: `nil` when the scope is not enough.
    func userInfo(of user: User, scope: Scope) -> JSONObject?
    /// A refusal that has nothing to do with the token.
    func refusal(ofUserInfoRequest headers: HTTPFields) -> Response?

    /// Whether the holder of a token may change gists.
    func allowsGists(_ scope: Scope) -> Bool

    // Each of these takes what the standards say and returns what the service says.
    func discovery(_ document: JSONObject) -> JSONObject
    func deviceResponse(_ response: JSONObject) -> JSONObject
    func tokenResponse(_ tokens: TokenSet) -> JSONObject
    func idTokenClaims(_ claims: JSONObject, origin: Origin) -> JSONObject
    func response(to error: OAuthError) -> ErrorResponse
    func response(to challenge: BearerChallenge) -> ErrorResponse
    /// What is said about a path that does not exist; `nil` for nothing in particular.
    var notFound: JSONObject? { get }
    /// Puts a response of the token or the device authorization endpoint into the format that the client wants.
    func encode(_ response: JSONObject, status: HTTPResponse.Status, for request: Request) throws -> Response
}

/// The standards and nothing else, unless it is told to be lax.
struct StandardQuirks: ServiceQuirks {
    /// How user info says what is wrong with a token.
    enum Refusal: String, CaseIterable, Sendable {
        /// By a challenge, as RFC 6750 has it.
        case challenge
        /// In the body alone.
        case body
        /// Not at all: the status has to do.
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

// MARK: - What the standards say

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
