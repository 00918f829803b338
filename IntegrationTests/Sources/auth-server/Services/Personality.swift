import HTTPTypes
import Hummingbird
import NIOCore

/// The behavior of the server: according to the standards, or with the differences of a service.
///
/// A client for many services must handle their differences. Each value imitates only the differences that the service
/// documents, or that a public report quotes; ``all`` is the table. The properties are the differences, and their defaults
/// are the standards.
struct Personality: Sendable {
    /// The name on the command line.
    var name = "standard"
    /// The pages that describe the behavior.
    var sources: [String] = []

    // MARK: Addresses

    var endpoints = Endpoints()
    /// The path of the server's real issuer.
    var issuerPath = ""
    /// The path of the issuer in discovery, if it differs, by the path of the document.
    var discoveredIssuerPaths: [String: String] = [:]
    /// Whether the redirect to the client includes `iss` (RFC 9207).
    var namesIssuerInResponses = true
    /// The hosts in redirect URIs; `nil` for all loopback hosts.
    var redirectHosts: Set<String>?
    var omittedFromDiscovery: [String] = []
    var addedToDiscovery: JSONObject = [:]

    // MARK: Requests

    var grantTypes = TokenRoutes.GrantType.allCases
    /// All scope names.
    var scope = Scope.all
    /// The scope for a client that requests none; `nil` for all.
    var usualScope: Scope?
    /// The grants for which a client must send a secret, although it cannot keep one.
    var secretGrants: Set<TokenRoutes.GrantType> = []
    /// Checks the parameters of a request to the authorization, device or token endpoint.
    var check: @Sendable ([String: String]) throws -> Void = { _ in }
    /// Whether the authorization endpoint accepts only pushed requests (RFC 9126).
    var requiresPushedRequests = false
    /// Whether clients bind tokens to a key, with nonces (RFC 9449); `nil` for the settings.
    var proofs: ProofPolicy?
    /// Whether a refused nonce spends the refresh token.
    var refusedProofSpendsToken = false

    // MARK: Tokens

    /// The sign-ins that get a refresh token.
    enum RefreshTokens: Sendable {
        case always
        case never
        case onDevice
        case scope(String)
        /// Sign-ins with the browser that sent this parameter, and all others.
        case parameter(String, String)
    }

    var refreshTokens = RefreshTokens.always
    var accessTokenPrefix = "at_"
    var refreshTokenPrefix = "rt_"
    var tokensExpire = true
    /// The lifetime of access tokens in seconds; `nil` for the settings.
    var lifetime: Int?
    /// What happens to an exchanged refresh token; `nil` for the settings.
    var rotation: TokenRules.Rotation?
    var detectsReuse: Bool?
    /// The number of sign-ins of a user with the same scope, of which the oldest then ends.
    var signInLimit: Int?
    /// The beginning of the names of scopes for another API than user info.
    var apiScopePrefix: String?
    /// Whether revoking an unknown token is an error, contrary to RFC 7009.
    var refusesToRevokeUnknownTokens = false
    var scopeSeparator = " "
    var omittedFromTokenResponse: [String] = []
    var addedToTokenResponse: JSONObject = [:]
    /// Members whose numbers are strings.
    var textsInTokenResponse: [String] = []
    var idTokenClaims: @Sendable (JSONObject, Origin) -> JSONObject = { claims, _ in claims }

    // MARK: Devices

    var omittedFromDeviceResponse: [String] = []
    var renamedInDeviceResponse: [String: String] = [:]
    var addedToDeviceResponse: JSONObject = [:]

    // MARK: Users

    /// The identifier of a user.
    var subject: @Sendable (User) -> String = { $0.subject }
    /// The user info for the holder of a token, if it has no claims of OpenID Connect.
    var profile: (@Sendable (User, Scope) -> JSONObject)?
    var requiresUserAgent = false
    /// Whether the scheme in an `Authorization` field must be `Bearer` in this case, contrary to RFC 9110, section 11.1.
    var comparesCaseOfScheme = false
    /// Whether the holder of a token may change gists.
    var allowsGists: @Sendable (Scope) -> Bool = { _ in true }

    // MARK: Errors

    /// The differences of errors; the first that fits counts.
    var errors: [ErrorForm] = []
    /// The last change of every error.
    var changeError: @Sendable (OAuthError, inout ErrorResponse) -> Void = { _, _ in }
    var challenge: @Sendable (BearerChallenge) -> ErrorResponse = { $0.standardResponse }
    /// The body for an unknown path, or `nil` for the default.
    var notFound: JSONObject?
    /// Whether responses are forms unless the client accepts JSON.
    var encodesForms = false

    /// Further answers, which the server gives on request; see ``ControlRoutes``.
    var answers: [ServiceAnswer] = []
}

extension Personality: CustomStringConvertible {
    /// The name, also in the results of tests.
    var description: String { name }
}

/// The form of an error at a service.
struct ErrorForm: Sendable {
    let code: OAuthError.Code
    var credential: OAuthError.Credential?
    var status: Int?
    /// The code at the service.
    var name: String?
    var description: String?
    /// Whether the body contains only the code.
    var isBare = false

    init(
        _ code: OAuthError.Code, _ credential: OAuthError.Credential? = nil, status: Int? = nil, as name: String? = nil,
        description: String? = nil, isBare: Bool = false
    ) {
        (self.code, self.credential, self.status, self.name) = (code, credential, status, name)
        (self.description, self.isBare) = (description, isBare)
    }

    func fits(_ error: OAuthError) -> Bool {
        code == error.code
            && (credential == nil || credential == error.credential
                || credential == .refreshToken && error.credential == .spentRefreshToken)
    }

    func apply(to response: inout ErrorResponse) {
        if let status { response.status = .init(code: status) }
        if let name { response.body?["error"] = .string(name) }
        if let description { response.body?["error_description"] = .string(description) }
        if isBare { response.body = response.body?.filter { $0.key == "error" } }
    }
}

/// An answer to a token request that a service documents, or that a public report quotes.
struct ServiceAnswer: Sendable, Encodable {
    let name: String
    /// The path of the requests that get the answer; `nil` for the token endpoint.
    var path: String?
    var status = 400
    var headers: [String: String] = [:]
    let body: String
    let source: String

    func fault(at endpoints: Endpoints, times: Int?) -> Fault {
        Fault(path: path ?? endpoints.token, status: status, headers: headers, body: body, times: times)
    }
}

extension Personality {
    func issuer(for origin: Origin) -> String { origin.url(issuerPath) }

    /// The issuer in the document at a path.
    func discoveredIssuer(for origin: Origin, at path: String? = nil) -> String {
        let path = path ?? endpoints.discovery.first ?? ""
        return origin.url(discoveredIssuerPaths[path] ?? issuerPath)
    }

    var defaultScope: Scope { usualScope ?? scope }

    func allows(_ redirectURI: RedirectURI) -> Bool { redirectHosts?.contains(redirectURI.host) ?? true }

    /// Returns whether a sign-in gets a refresh token.
    ///
    /// - Parameter browserParameters: The client's parameters if the user signed in with the browser.
    func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool {
        switch refreshTokens {
        case .always: true
        case .never: false
        case .onDevice: browserParameters == nil
        case .scope(let name): scope.contains(name)
        case .parameter(let name, let value): browserParameters.map { $0[name] == value } ?? true
        }
    }

    /// The rules for tokens. The settings apply where the service has no rule.
    func tokenRules(_ settings: ServerSettings) -> TokenRules {
        TokenRules(
            accessTokenPrefix: accessTokenPrefix, refreshTokenPrefix: refreshTokenPrefix,
            lifetime: tokensExpire ? lifetime ?? settings.accessTokenLifetime : nil,
            rotation: settings.rotatesRefreshTokens ? rotation ?? settings.rotation : .off,
            detectsReuse: detectsReuse ?? settings.detectsReuse, signInLimit: signInLimit)
    }

    /// The user info for the holder of a token.
    ///
    /// - Returns: `nil` if the scope is insufficient.
    func userInfo(of user: User, scope: Scope) -> JSONObject? {
        if let profile { return profile(user, scope) }
        guard scope.contains("openid") else { return nil }
        return user.claims(for: scope).merging(["sub": .string(subject(user))]) { _, new in new }
    }

    /// Whether a token is for an API, and not for user info.
    func isForAPI(_ scope: Scope) -> Bool {
        apiScopePrefix.map { prefix in scope.names.contains { $0.hasPrefix(prefix) } } ?? false
    }

    /// The scope of a refresh that names none. Some services issue a token for their own API then.
    func scopeOfPlainRefresh(of granted: Scope) -> Scope? {
        guard let apiScopePrefix else { return nil }
        return Scope(names: granted.names.filter { !$0.hasPrefix(apiScopePrefix) })
    }

    /// A refusal of user info that is independent of the token.
    ///
    /// Source: https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api, on `User-Agent`.
    func refusal(ofUserInfoRequest headers: HTTPFields) -> Response? {
        guard requiresUserAgent, headers[.userAgent]?.isEmpty ?? true else { return nil }
        let text = "This request is not allowed: send a User-Agent field that says which program you are.\n"
        return Response(
            status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    func discovery(_ document: JSONObject) -> JSONObject {
        document.filter { !omittedFromDiscovery.contains($0.key) }.merging(addedToDiscovery) { _, new in new }
    }

    func deviceResponse(_ response: JSONObject) -> JSONObject {
        var result = response.filter { !omittedFromDeviceResponse.contains($0.key) }
        for (name, other) in renamedInDeviceResponse { result[other] = result.removeValue(forKey: name) }
        return result.merging(addedToDeviceResponse) { _, new in new }
    }

    func tokenResponse(_ tokens: TokenSet) -> JSONObject {
        var response = tokens.response
        if scopeSeparator != " " { response["scope"] = .string(tokens.scope.names.joined(separator: scopeSeparator)) }
        response = response.filter { !omittedFromTokenResponse.contains($0.key) }
            .merging(addedToTokenResponse) { _, new in new }
        for name in textsInTokenResponse {
            if case .integer(let number)? = response[name] { response[name] = .string(String(number)) }
        }
        return response
    }

    func response(to error: OAuthError) -> ErrorResponse {
        var response = error.standardResponse
        errors.first { $0.fits(error) }?.apply(to: &response)
        changeError(error, &response)
        return response
    }

    func encode(_ response: JSONObject, for request: Request) throws -> Response {
        try encode(response, status: .ok, for: request)
    }

    /// Encodes a response from the token or device authorization endpoint in the format that the client accepts.
    func encode(_ response: JSONObject, status: HTTPResponse.Status, for request: Request) throws -> Response {
        guard encodesForms, request.headers[.accept]?.contains("application/json") != true else {
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

/// How the UserInfo endpoint of the standard server reports an invalid token.
enum UserInfoRefusal: String, CaseIterable, Sendable {
    /// The response contains a challenge, as in RFC 6750.
    case challenge
    /// Only the body of the response contains the error.
    case body
    /// Only the status indicates the error.
    case none
}

extension Personality {
    /// The standards, optionally with lax refusals of user info.
    static func standard(refusal: UserInfoRefusal = .challenge) -> Personality {
        var result = Personality()
        result.challenge = { challenge in
            var response = challenge.standardResponse
            if refusal != .challenge { response.challenge = nil }
            if refusal == .none { response.body = nil }
            return response
        }
        return result
    }
}
