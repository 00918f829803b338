import HTTPTypes
import Hummingbird

/// An error reply of the token, revocation or device authorization endpoint, or what a browser is sent back with.
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
    }

    let code: Code
    /// For the developer of a client; never contains anything the client sent.
    let explanation: String
    /// Whether the client tried to authenticate with the `Authorization` field, which asks for a challenge.
    var clientUsedAuthorizationField = false

    init(_ code: Code, _ explanation: String) {
        self.code = code
        self.explanation = explanation
    }
}

extension OAuthError: HTTPResponseError {
    var status: HTTPResponse.Status { code == .invalidClient ? .unauthorized : .badRequest }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var headers = HTTPFields.neverStored
        if clientUsedAuthorizationField {
            headers[.wwwAuthenticate] = #"Basic realm="account""#
        }
        let reply: JSONObject = ["error": .string(code.rawValue), "error_description": .string(explanation)]
        return try .json(reply, status: status, headers: headers)
    }
}
