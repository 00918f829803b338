/// GitLab, which is built on Doorkeeper.
///
/// Source: https://docs.gitlab.com/api/oauth2/ and https://docs.gitlab.com/integration/openid_connect_provider/
struct GitLabQuirks: ServiceQuirks {
    var endpoints: Endpoints {
        Endpoints(
            deviceAuthorization: "/oauth/authorize_device",
            devicePage: "/oauth/device",
            keys: "/oauth/discovery/keys"
        )
    }

    var scope: Scope { Scope(names: ["openid", "profile", "email", "read_user", "read_api", "api"]) }
    var namesIssuerInResponses: Bool { false }

    /// A spent refresh token stays valid until the client uses the new access token.
    ///
    /// According to GitLab's own documentation, a refresh immediately invalidates the old token. This is the more
    /// surprising behavior of the two: Doorkeeper works this way if its table has the column `previous_refresh_token`,
    /// as explained in
    /// https://github.com/doorkeeper-gem/doorkeeper/blob/main/lib/generators/doorkeeper/templates/migration.rb.erb
    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(
            lifetime: settings.accessTokenLifetime,
            rotation: settings.rotatesRefreshTokens ? .spendsBothAtFirstUse : .off,
            detectsReuse: false
        )
    }

    /// The user's number.
    func subject(of user: User) -> String { String(user.id) }

    func discovery(_ document: JSONObject) -> JSONObject {
        let methods: JSONObject = [
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["plain", "S256"],
        ]
        return document.merging(methods) { _, new in new }
    }

    /// A request without a token gets the same response as one with an invalid token.
    func response(to challenge: BearerChallenge) -> ErrorResponse {
        let code = challenge.code ?? .invalidToken
        let explanation = challenge.code == nil ? "the access token is invalid" : challenge.explanation
        return ErrorResponse(
            status: challenge.status,
            challenge: Self.challenge(code.rawValue, explanation),
            body: ["error": .string(code.rawValue), "error_description": .string(explanation)]
        )
    }

    /// Errors of the token endpoint have a Bearer challenge, too, although the endpoint requires no token.
    ///
    /// Seen in https://gitlab.com/gitlab-org/gitlab/-/issues/454286
    func response(to error: OAuthError) -> ErrorResponse {
        var response = error.standardResponse
        response.challenge = Self.challenge(error.code.rawValue, error.explanation)
        return response
    }

    private static func challenge(_ code: String, _ explanation: String) -> String {
        #"Bearer realm="Doorkeeper", error="\#(code)", error_description="\#(explanation)""#
    }
}
