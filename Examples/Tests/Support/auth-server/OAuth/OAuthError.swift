import HTTPTypes
import Hummingbird

/// An error response of the token, revocation or device authorization endpoint, or what a browser is sent back with.
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
        /// Of a resource (RFC 8707, section 2).
        case invalidTarget = "invalid_target"
        /// Of a token to be revoked (RFC 7009 has no such error); only some services say so.
        case invalidToken = "invalid_token"
    }

    /// What a client presented in exchange for tokens.
    enum Credential {
        case password
        case code
        case deviceCode
        case refreshToken
    }

    let code: Code
    /// For the developer of a client; never contains anything the client sent.
    let explanation: String
    /// Whether the client tried to authenticate with the `Authorization` field, which asks for a challenge.
    var clientUsedAuthorizationField = false
    /// What was wrong, if it was this; the standards have one code for all.
    let credential: Credential?
    /// How long a device must wait from now on, in seconds.
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

    /// The response that the standards ask for.
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
