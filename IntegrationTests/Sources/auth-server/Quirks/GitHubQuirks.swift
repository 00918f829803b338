import HTTPTypes
import Hummingbird
import NIOCore

/// GitHub, as an Enterprise Server on a separate host.
///
/// It has no OpenID Connect and no discovery. Responses are forms unless the client requests JSON, and every error of
/// the OAuth endpoints has status 200.
///
/// Source: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps and, for the errors,
/// https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors
struct GitHubQuirks: ServiceQuirks {
    /// Whether tokens expire and can be refreshed, like those of a GitHub App.
    ///
    /// Source:
    /// https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens
    let tokensExpire: Bool

    private static let documentation = "https://docs.github.com"
    private static let lifetime = 28_800
    private static let refreshTokenLifetime = 15_897_600

    var endpoints: Endpoints {
        Endpoints(
            discovery: [],
            authorization: "/login/oauth/authorize",
            token: "/login/oauth/access_token",
            deviceAuthorization: "/login/device/code",
            devicePage: "/login/device",
            userInfo: "/api/v3/user",
            revocation: nil,
            keys: nil
        )
    }

    var grantTypes: [TokenRoutes.GrantType] {
        [.authorizationCode, .deviceCode] + (tokensExpire ? [.refreshToken] : [])
    }

    var scope: Scope { Scope(names: ["read:user", "user:email", "user", "read:org", "repo", "gist", "workflow"]) }
    var defaultScope: Scope { Scope(names: ["read:user", "user:email"]) }
    var namesIssuerInResponses: Bool { false }

    func needsSecret(for grantType: TokenRoutes.GrantType) -> Bool { grantType == .authorizationCode }
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool { tokensExpire }

    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(
            accessTokenPrefix: tokensExpire ? "ghu_" : "gho_",
            refreshTokenPrefix: "ghr_",
            lifetime: tokensExpire ? Self.lifetime : nil,
            rotation: .spendsBoth,
            detectsReuse: false
        )
    }

    /// Source: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
    func allowsGists(_ scope: Scope) -> Bool { tokensExpire || scope.contains("gist") }

    func deviceResponse(_ response: JSONObject) -> JSONObject {
        response.filter { $0.key != "verification_uri_complete" }
    }

    func tokenResponse(_ tokens: TokenSet) -> JSONObject {
        var response = tokens.response
        response["token_type"] = "bearer"
        response["scope"] = .string(tokensExpire ? "" : tokens.scope.names.joined(separator: ","))
        if tokensExpire {
            response["refresh_token_expires_in"] = .integer(Self.refreshTokenLifetime)
        }
        return response
    }

    /// Encodes the response as a form, unless the client accepts JSON.
    func encode(_ response: JSONObject, status: HTTPResponse.Status, for request: Request) throws -> Response {
        if request.headers[.accept]?.contains("application/json") == true {
            return try .json(response, status: status, headers: .neverStored)
        }
        let pairs = response.sorted { $0.key < $1.key }.compactMap { name, value -> String? in
            switch value {
            case .string(let text): "\(name)=\(text.percentEncoded)"
            case .integer(let number): "\(name)=\(number)"
            default: nil
            }
        }
        var headers = HTTPFields.neverStored
        headers[.contentType] = "application/x-www-form-urlencoded; charset=utf-8"
        let body = ByteBuffer(string: pairs.joined(separator: "&"))
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}

// MARK: - Errors

extension GitHubQuirks {
    func response(to error: OAuthError) -> ErrorResponse {
        var body: JSONObject = [
            "error": .string(Self.code(of: error)),
            "error_description": .string(error.explanation),
            "error_uri": .string(Self.documentation),
        ]
        body["interval"] = error.interval.map { .integer($0) }
        return ErrorResponse(status: .ok, body: body)
    }

    private static func code(of error: OAuthError) -> String {
        switch (error.code, error.credential) {
        case (.invalidClient, _): "incorrect_client_credentials"
        case (.invalidGrant, .deviceCode): "incorrect_device_code"
        case (.invalidGrant, .refreshToken): "bad_refresh_token"
        case (.invalidGrant, .code): "bad_verification_code"
        default: error.code.rawValue
        }
    }

    /// Source: https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api
    func response(to challenge: BearerChallenge) -> ErrorResponse {
        let message = challenge.code == nil ? "Requires authentication" : "Bad credentials"
        return ErrorResponse(status: .unauthorized, body: Self.message(message, status: 401))
    }

    var notFound: JSONObject? { Self.message("Not Found", status: 404) }

    private static func message(_ text: String, status: Int) -> JSONObject {
        ["message": .string(text), "documentation_url": .string(documentation), "status": .string(String(status))]
    }
}

// MARK: - The user

extension GitHubQuirks {
    /// alice's number is 583231. Other users' numbers follow from their own numbers.
    private static let firstID = 582_230

    /// Source: https://docs.github.com/en/rest/users/users
    func userInfo(of user: User, scope: Scope) -> JSONObject? {
        let seesEmail = tokensExpire || scope.contains("user:email") || scope.contains("user")
        return [
            "login": .string(user.username),
            "id": .integer(Self.firstID + user.id),
            "node_id": .string("U_\(Self.firstID + user.id)"),
            "type": "User",
            "name": .string(user.name),
            "email": seesEmail ? .string(user.email) : .null,
            "avatar_url": .string(user.picture),
            "html_url": .string("https://example.org/\(user.username)"),
        ]
    }

    /// Source: https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api, on `User-Agent`.
    func refusal(ofUserInfoRequest headers: HTTPFields) -> Response? {
        guard headers[.userAgent]?.isEmpty ?? true else { return nil }
        let text = "This request is not allowed: send a User-Agent field that says which program you are.\n"
        return Response(
            status: .forbidden,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
