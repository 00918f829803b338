/// An error response from a service, or the reason why there was no response.
///
/// An authority error only describes the response. AccountKit decides what the response means for the session.
public enum AuthorityError: Error, Hashable, Sendable {
    /// There was no complete response. The ``Failure`` shows whether the service may have carried out the request.
    case noResponse(Failure)

    /// The request was not sent, because an earlier request on which it depends failed, such as the request for the
    /// discovery document.
    indirect case notSent(AuthorityError)

    /// There was no trusted connection, because TLS or the check of the certificate failed.
    case untrustedTLS(String)

    /// An OAuth error response from the token endpoint (RFC 6749, section 5.2; RFC 8628, section 3.5).
    case oauthError(OAuthErrorCode, description: String? = nil)

    /// A 401 response with a `WWW-Authenticate: Bearer` challenge, and the `error` of the challenge if there is one
    /// (RFC 6750, section 3).
    case bearerChallenge(error: String?)

    /// A 401 response without a Bearer challenge: there is no challenge, or the challenge is for Basic or another
    /// scheme.
    case unauthorized

    /// A 400 response from the token endpoint without an OAuth error. The service issued no tokens and did not report a
    /// reason.
    case badRequest

    /// A response from the token endpoint with another status from 402 to 499 and without an OAuth error, such as 404. Also a
    /// 400 response with a web page.
    case refused(status: Int)

    /// A 403 response, and the `error` of its Bearer challenge if there is one.
    case forbidden(error: String?)

    /// A 407 response: a proxy requires authentication.
    case proxyAuthenticationRequired

    /// A 408, 425, 429 or 5xx response except 511, and the time to wait if the response contains one.
    case unavailable(status: Int, retryAfter: Duration?)

    /// A response from a server other than the service: status 511, a redirect from an API endpoint, or a web page
    /// instead of data.
    case intercepted(String)

    /// A response that allows no conclusion: another status, no JSON, a missing or invalid field.
    case unclear(String)

    /// The service reports that the token belongs to another user.
    case otherUser(id: String)

    /// The service, or the app's registration there, is not set up for the request.
    case misconfigured(String)

    /// An app's own authority has determined that the service no longer accepts this token.
    case rejected(String)

    /// An app's own authority has determined that the service refused this sign-in, for example for a wrong password.
    case signInRefused(String)

    /// Creates an authority error from any error. A cancellation counts as a request without a response, and an error
    /// of another type counts as an unclear response.
    package init(_ error: any Error) {
        switch error {
        case let failure as AuthorityError: self = failure
        case is CancellationError: self = .noResponse(.cancelled)
        default: self = .unclear("the authority failed: \(type(of: error))")
        }
    }
}

/// The `error` of an OAuth response. A service may send any string; AccountKit interprets the codes below.
public struct OAuthErrorCode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral {
    /// The code in the response.
    public let rawValue: String

    /// Creates a code from the string in a response.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a code from the string in a response.
    public init(stringLiteral value: String) { rawValue = value }

    // RFC 6749, section 5.2.
    /// The code, password or refresh token is invalid, expired, revoked, or was issued to another client.
    public static let invalidGrant: OAuthErrorCode = "invalid_grant"
    /// The client is not known to the service.
    public static let invalidClient: OAuthErrorCode = "invalid_client"
    /// The request is malformed.
    public static let invalidRequest: OAuthErrorCode = "invalid_request"
    /// The client is not allowed to use this grant.
    public static let unauthorizedClient: OAuthErrorCode = "unauthorized_client"
    /// The service does not support this grant.
    public static let unsupportedGrantType: OAuthErrorCode = "unsupported_grant_type"
    /// A scope is unknown or not allowed.
    public static let invalidScope: OAuthErrorCode = "invalid_scope"

    // RFC 8707, section 2; RFC 8693, section 2.2.2.
    /// The service does not recognize the requested API, or issues no tokens for this API.
    public static let invalidTarget: OAuthErrorCode = "invalid_target"

    // RFC 6749, section 4.1.2.1.
    /// The user or the service refused the request.
    public static let accessDenied: OAuthErrorCode = "access_denied"
    /// The service failed.
    public static let serverError: OAuthErrorCode = "server_error"
    /// The service is overloaded or under maintenance.
    public static let temporarilyUnavailable: OAuthErrorCode = "temporarily_unavailable"

    // RFC 8628, section 3.5.
    /// The user has not approved or denied the sign-in yet.
    public static let authorizationPending: OAuthErrorCode = "authorization_pending"
    /// The user has not approved or denied the sign-in yet, and the client polls too often.
    public static let slowDown: OAuthErrorCode = "slow_down"
    /// The device code has expired.
    public static let expiredToken: OAuthErrorCode = "expired_token"
}
