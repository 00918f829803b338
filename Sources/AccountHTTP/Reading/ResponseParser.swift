import AccountKit
import AccountSupport
import HTTPTypes

/// Parses a response into the expected JSON object or a failure. A failure is definite only if a well-formed response
/// reports it. Any other unexpected response becomes a failure that keeps the user signed in.
struct ResponseParser: Sendable {
    enum Endpoint: Sendable {
        case discovery
        case resourceMetadata
        case registration
        /// The authorization endpoint, which responds through the browser.
        case authorization
        case token
        /// RFC 9126, section 2.
        case pushedAuthorization
        case userInfo
        case revocation
        case introspection
        case deviceAuthorization

        /// Whether the endpoint responds with OAuth errors (RFC 6749, section 5.2; RFC 7009, section 2.2.1; RFC 8628,
        /// section 3.2).
        var respondsOAuthErrors: Bool {
            self == .token || self == .revocation || self == .introspection || self == .deviceAuthorization
                || self == .registration || self == .pushedAuthorization
        }

        /// Whether a challenge refers to a token. The other endpoints receive no tokens.
        var isSentToken: Bool { ![.discovery, .resourceMetadata, .registration, .authorization].contains(self) }

        /// The members of responses that must never become strings.
        var secrets: Set<String> {
            switch self {
            case .registration: ["client_secret", "registration_access_token"]
            case _ where respondsOAuthErrors: ["access_token", "refresh_token", "id_token", "device_code"]
            default: []
            }
        }

        var name: String {
            switch self {
            case .discovery: "the discovery document"
            case .resourceMetadata: "the metadata of the API"
            case .registration: "the registration endpoint"
            case .authorization: "the authorization endpoint"
            case .token: "the token endpoint"
            case .pushedAuthorization: "the endpoint for pushed authorization requests"
            case .userInfo: "the user info endpoint"
            case .revocation: "the revocation endpoint"
            case .introspection: "the introspection endpoint"
            case .deviceAuthorization: "the device authorization endpoint"
            }
        }
    }

    let endpoint: Endpoint
    let quirks: ServiceQuirks
    let isRefresh: Bool

    /// Whether the request contained a proof, so that the response may contain tokens that are bound to its key, and a
    /// challenge of the scheme DPoP (RFC 9449).
    let isProved: Bool

    let text: ServerText

    /// Creates a parser. Failures do not contain the `secrets` of the request, even if the response repeats them.
    init(
        _ endpoint: Endpoint, sent secrets: [Secret] = [], quirks: ServiceQuirks = .standard, isRefresh: Bool = false,
        isProved: Bool = false
    ) {
        self.endpoint = endpoint
        self.isRefresh = isRefresh
        self.isProved = isProved
        self.quirks = quirks
        text = ServerText(secrets: secrets)
    }

    func object(in response: ServiceResponse) throws(AuthorityError) -> JSONObject {
        try responseObject(in: response).members
    }

    /// Parses an object. The body decides what it is, and not its label: some services label JSON as HTML or as compressed.
    /// An OAuth error, which may end a session, must be labelled correctly.
    func responseObject(in response: ServiceResponse) throws(AuthorityError) -> ResponseObject {
        let response = response.decompressed()
        try checkStatus(of: response)
        guard let object = readObject(in: response) else {
            try checkLabel(of: response)
            let explanation = explanation(in: readForm(in: response))
            throw .unclear("the response from \(endpoint.name) is not a JSON object\(explanation)")
        }
        // GitHub, for example, sends its errors with status 200.
        if endpoint.respondsOAuthErrors, object.members["access_token"]?.string == nil,
            object.members["device_code"]?.string == nil, let error = oauthError(in: object.members)
        {
            try checkLabel(of: response)
            throw error
        }
        return object
    }

    /// Throws an error if the response is labelled as something else than JSON.
    private func checkLabel(of response: ServiceResponse) throws(AuthorityError) {
        try checkForWebPage(in: response)
        guard response.mediaType != "application/jwt" else {
            throw .unclear("\(endpoint.name) sent a signed response (application/jwt), which is not supported")
        }
        guard !response.isCompressed else {
            throw .unclear(
                "\(endpoint.name) sent a compressed response that cannot be read, although none was requested")
        }
    }

    func acknowledgement(in response: ServiceResponse) throws(AuthorityError) {
        let response = response.decompressed()
        try checkStatus(of: response)
        // Django sends responses without content as text/html with an empty body.
        if !response.body.isEmpty { try checkForWebPage(in: response) }
    }

    /// Throws an error if the service is unavailable, or if the response does not come from the service.
    static func checkAvailability(of response: ServiceResponse, from name: String) throws(AuthorityError) {
        switch response.status {
        case 511: throw .intercepted("the network requires its own sign-in (511)")
        case 300..<400:
            throw .intercepted("\(name) redirects (\(response.status)), and AccountKit does not follow redirects")
        case 407: throw .proxyAuthenticationRequired
        case 408, 425, 429, 500..<600:
            throw .unavailable(status: response.status, retryAfter: RetryAfter.duration(in: response))
        default: return
        }
    }

    func checkStatus(of response: ServiceResponse) throws(AuthorityError) {
        // Auth0, for example, asks for slower polls with status 429.
        if response.status == 429, let error = oauthError(in: response), case .oauthError("slow_down", _) = error {
            throw error
        }
        try Self.checkAvailability(of: response, from: endpoint.name)
        switch response.status {
        case _ where !response.isBodyWhole:
            throw .unclear("the response from \(endpoint.name) is longer than \(ServiceResponse.bodyLimit >> 20) MiB")
        case _ where isDeadTokenResponse(response): throw .unauthorized(error: "invalid_token")
        case 200..<300: return
        // RFC 6749 names 400 and 401, but some large services send the same JSON with other statuses.
        case _ where quirks.errorStatuses.contains(response.status):
            if let error = oauthError(in: response) { throw error }
        default: break
        }
        switch response.status {
        case 400 where endpoint.respondsOAuthErrors && !response.isMarkup && !response.isCompressed:
            throw .refused(status: 400)
        case 401 where endpoint.isSentToken: throw .unauthorized(error: challengeError(in: challenges(in: response)))
        case 403 where endpoint.isSentToken:
            let error = challengeError(in: challenges(in: response))
            throw .forbidden(error: error ?? (namesInsufficientScope(response) ? "insufficient_scope" : nil))
        case 400..<500 where endpoint == .token && isRefusal(response): throw .refused(status: response.status)
        default: throw .unclear("\(response.status) from \(endpoint.name)")
        }
    }

    /// Returns whether a 4xx response is an answer of the service, so that another attempt will not change it. A web page may
    /// come from a proxy, unless its status says that the address does not exist.
    private func isRefusal(_ response: ServiceResponse) -> Bool {
        [404, 405, 410].contains(response.status) || !response.isMarkup && !response.isCompressed
    }

    /// Returns whether the service reports an invalid token without a challenge. The response is authentic: AccountKit
    /// sends tokens only over TLS or to this machine, and does not follow redirects.
    private func isDeadTokenResponse(_ response: ServiceResponse) -> Bool {
        guard endpoint == .userInfo, let expected = quirks.deadTokenResponse, response.status == expected.status,
            response.isBodyWhole, response.mediaType == "application/json", !response.isCompressed,
            let object = ResponseObject(response.body, secrets: []), !object.isAmbiguous
        else { return false }
        return object.members[expected.member]?.string.map { expected.values.contains($0) } ?? false
    }

    private func checkForWebPage(in response: ServiceResponse) throws(AuthorityError) {
        guard !response.isMarkup else { throw .intercepted("a web page instead of \(endpoint.name)") }
    }

    // MARK: Errors in bodies and in challenges

    /// Returns whether a response calls the token invalid with a status that is not for that. Some APIs send 400 or 403 in place
    /// of 401, with a challenge or a body that names the error (RFC 6750, section 3.1).
    func namesInvalidToken(_ response: ServiceResponse) -> Bool {
        guard response.status == 400 || response.status == 403 else { return false }
        if challengeError(in: challenges(in: response)) == "invalid_token" { return true }
        let response = response.decompressed()
        guard response.mediaType == "application/json", !response.isCompressed,
            let object = ResponseObject(response.body, secrets: endpoint.secrets)
        else { return false }
        return object.members["error"] == .string("invalid_token")
    }

    /// Returns the OAuth error in an object, or `nil` if there is none (RFC 6749, section 5.2).
    func oauthError(in object: JSONObject) -> AuthorityError? {
        guard let code = object["error"]?.string, isErrorCode(code) else { return nil }
        let applies = { (error: ErrorMeaning) in error.applies(to: object, isRefresh: isRefresh) }
        let special =
            quirks.errors.first(where: applies) ?? (isRefresh ? KnownService.keepingErrors.first(where: applies) : nil)
        return .oauthError(
            special?.meaning ?? code,
            description: text.shown(object["error_description"]?.string))
    }

    /// Returns the OAuth error in the body of a response with another status than 2xx, or `nil` if there is none.
    private func oauthError(in response: ServiceResponse) -> AuthorityError? {
        guard endpoint.respondsOAuthErrors, response.isBodyWhole, !response.isMarkup, !response.isCompressed,
            let object = readObject(in: response)
        else { return nil }
        return oauthError(in: object.members)
    }

    private func readObject(in response: ServiceResponse) -> ResponseObject? {
        ResponseObject(response.body, secrets: endpoint.secrets)
            ?? (quirks.mayAnswerWithForms ? readForm(in: response) : nil)
    }

    private func readForm(in response: ServiceResponse) -> ResponseObject? {
        guard response.mediaType == "application/x-www-form-urlencoded" else { return nil }
        return ResponseObject(form: response.body, secrets: endpoint.secrets)
    }

    /// Returns the explanation in a response with neither the expected members nor an OAuth error, in brackets; empty if there
    /// is none that AccountKit may show.
    func explanation(in object: ResponseObject?) -> String {
        guard let object else { return "" }
        let text = ServerText(secrets: text.secrets + object.secrets.values)
        return ServiceExplanation.message(in: object.members, text).map { " (\($0))" } ?? ""
    }

    /// Returns whether the body contains the error `insufficient_scope`, which belongs in a challenge (RFC 6750,
    /// section 3.1).
    private func namesInsufficientScope(_ response: ServiceResponse) -> Bool {
        guard response.mediaType == "application/json", !response.isCompressed,
            let object = ResponseObject(response.body, secrets: endpoint.secrets)
        else { return false }
        return object.members["error"] == .string("insufficient_scope")
    }

    /// Returns the challenges of the scheme with which the request sent its token.
    private func challenges(in response: ServiceResponse) -> [AuthenticationChallenge] {
        let scheme = isProved && endpoint == .userInfo ? "dpop" : "bearer"
        return response.challenges.filter { $0.scheme == scheme }
    }

    /// Returns the error of the challenges, or `nil` if the challenges contain no error or contradict each other.
    private func challengeError(in challenges: [AuthenticationChallenge]) -> String? {
        let errors = Set(challenges.compactMap { $0.parameters["error"] })
        guard errors.count == 1, let error = errors.first, isErrorCode(error) else { return nil }
        return error
    }

    private func isErrorCode(_ text: String) -> Bool {
        // Skip the search for secrets here: a user's password may be "invalid_grant", and a client's secret "client".
        if Self.registeredErrors.contains(text) || KnownService.errorCodes.contains(text) { return true }
        return !text.isEmpty && text.utf8.count <= 128 && !self.text.repeatsSecret(text)
            && text.utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// The error codes of RFC 6749, sections 4.1.2.1 and 5.2; RFC 6750, section 3.1; RFC 7009, section 2.2.1; RFC 8628,
    /// section 3.5; RFC 8707, section 2; RFC 9449, section 12.2.
    private static let registeredErrors: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable",
        "invalid_token", "insufficient_scope", "unsupported_token_type", "authorization_pending", "slow_down",
        "expired_token", "invalid_target", "invalid_dpop_proof", "use_dpop_nonce",
    ]
}
