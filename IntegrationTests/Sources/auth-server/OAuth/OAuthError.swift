import HTTPTypes
import Hummingbird

/// An error of the token, revocation or device authorization endpoint, or of a redirect to the client.
///
/// Source: RFC 6749, sections 4.1.2.1 and 5.2; RFC 8628, section 3.5, adds the codes of the device flow, and OpenID
/// Connect Core 1.0, section 3.1.2.6, one of the browser flow.
struct OAuthError: Error, Equatable {
    enum Code: String {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedResponseType = "unsupported_response_type"
        case loginRequired = "login_required"
        case unsupportedGrantType = "unsupported_grant_type"
        case invalidScope = "invalid_scope"
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case accessDenied = "access_denied"
        case expiredToken = "expired_token"
        /// The server does not accept the requested resource (RFC 8707, section 2).
        case invalidTarget = "invalid_target"
        /// The token in a revocation request is invalid. RFC 7009 does not define this error, but some services send
        /// it.
        case invalidToken = "invalid_token"
        /// The proof of the client's key is not valid (RFC 9449, section 5).
        case invalidDPoPProof = "invalid_dpop_proof"
        /// The proof needs a nonce (RFC 9449, section 8).
        case useDPoPNonce = "use_dpop_nonce"
    }

    /// The credential that a client presented for tokens.
    enum Credential {
        case password
        case code
        case deviceCode
        case refreshToken
        /// A refresh token that was valid once.
        case spentRefreshToken
    }

    let code: Code
    /// An explanation for the developer of a client. It never contains anything that the client sent.
    let explanation: String
    /// Whether the client used the `Authorization` field, which requires a challenge.
    var clientUsedAuthorizationField = false
    /// The rejected credential, if any. The standards have the same code for all credentials.
    let credential: Credential?
    /// The new polling interval of a device, in seconds.
    let interval: Int?

    init(_ code: Code, _ explanation: String, credential: Credential? = nil, interval: Int? = nil) {
        self.code = code
        self.explanation = explanation
        self.credential = credential
        self.interval = interval
    }
}

extension OAuthError: HTTPResponseError {
    var status: HTTPResponse.Status { code == .invalidClient ? .unauthorized : .badRequest }

    /// The response that the standards require.
    var standardResponse: ErrorResponse {
        ErrorResponse(
            status: status,
            challenge: clientUsedAuthorizationField ? #"Basic realm="account""# : nil,
            body: ["error": .string(code.rawValue), "error_description": .string(explanation)]
        )
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        try standardResponse.response
    }
}
