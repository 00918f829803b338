import HTTPTypes

/// Google: requires a secret from clients that cannot keep one, and has nonstandard statuses and an issuer with two
/// spellings.
///
/// Source: https://developers.google.com/identity/protocols/oauth2/limited-input-device and
/// https://developers.google.com/identity/protocols/oauth2/native-app
struct GoogleQuirks: ServiceQuirks {
    var endpoints: Endpoints { Endpoints(discovery: ["/.well-known/openid-configuration"]) }
    var grantTypes: [TokenRoutes.GrantType] { [.authorizationCode, .refreshToken, .deviceCode] }
    var scope: Scope { Scope(names: ["openid", "profile", "email"]) }
    var refusesToRevokeUnknownTokens: Bool { true }

    func needsSecret(for grantType: TokenRoutes.GrantType) -> Bool { true }

    /// Returns `true` in the browser flow only if the client requested offline access.
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool {
        guard let browserParameters else { return true }
        return browserParameters["access_type"] == "offline"
    }

    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(lifetime: settings.accessTokenLifetime, rotation: .off)
    }

    func discovery(_ document: JSONObject) -> JSONObject {
        let methods: JSONObject = [
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "code_challenge_methods_supported": ["plain", "S256"],
        ]
        return document.merging(methods) { _, new in new }
    }

    func deviceResponse(_ response: JSONObject) -> JSONObject {
        var response = response
        response["verification_url"] = response.removeValue(forKey: "verification_uri")
        response["verification_uri_complete"] = nil
        return response
    }

    /// The issuer without a scheme, which is allowed by
    /// https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken
    func idTokenClaims(_ claims: JSONObject, origin: Origin) -> JSONObject {
        claims.merging(["iss": .string(origin.authority)]) { _, new in new }
    }

    func response(to error: OAuthError) -> ErrorResponse {
        var response = error.standardResponse
        switch error.code {
        case .authorizationPending: response.status = .init(code: 428)
        case .slowDown, .accessDenied: response.status = .forbidden
        case .invalidClient, .invalidToken: response.body = ["error": .string(error.code.rawValue)]
        default: break
        }
        return response
    }
}
