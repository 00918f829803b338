/// What an answer of a service looked like, or why there was none. It says what was seen, not what it means.
///
/// What it means for the session is decided in one place, `SessionDecision`.
public enum AuthorityError: Error, Hashable, Sendable {
    /// No whole response came. Whether the request may have been carried out, the ``Failure`` says.
    case noResponse(Failure)

    /// The request was not sent, since something that it needs failed before, such as the discovery document.
    indirect case notSent(AuthorityError)

    /// No trusted connection could be made: TLS or the certificate failed.
    case untrustedTLS(String)

    /// The token endpoint answered with an error of OAuth's form (RFC 6749, section 5.2; RFC 8628, section 3.5).
    case oauthError(OAuthErrorCode, description: String? = nil)

    /// 401 with a `WWW-Authenticate: Bearer` challenge, and its `error` if it has one (RFC 6750, section 3).
    case bearerChallenge(error: String?)

    /// 401 without a Bearer challenge: none at all, Basic, or another scheme.
    case unauthorized

    /// 400 from the token endpoint without an error of OAuth's form: nothing was issued, and it is not said why.
    case badRequest

    /// 403, and the `error` of its Bearer challenge if it has one.
    case forbidden(error: String?)

    /// 407: a proxy on the way wants credentials of its own.
    case proxyAuthenticationRequired

    /// 408, 425, 429 or 5xx but 511, and how long to wait if the response said so.
    case unavailable(status: Int, retryAfter: Duration?)

    /// Someone else answered: 511, a redirect from an API endpoint, or a web page where data should be.
    case intercepted(String)

    /// An answer from which nothing can be concluded: another status, no JSON, a missing or impossible field.
    case unclear(String)

    /// The service says that the token is another user's.
    case otherUser(id: String)

    /// The service, or this app's registration with it, is not set up for what was asked.
    case misconfigured(String)

    /// An app's own authority is certain: the service says that this token is not valid any more.
    case rejected(String)

    /// An app's own authority is certain: the service refused this sign-in, for instance for a wrong password.
    case signInRefused(String)

    /// What stands for any error that an authority threw.
    ///
    /// An error of another type is an unexpected response, and a cancellation is a request without a response.
    package init(_ error: any Error) {
        switch error {
        case let failure as AuthorityError: self = failure
        case is CancellationError: self = .noResponse(.cancelled)
        default: self = .unclear("the authority failed: \(type(of: error))")
        }
    }
}

/// The `error` of an OAuth response. Any string may come; the ones below have a meaning.
public struct OAuthErrorCode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral {
    /// The code as it came.
    public let rawValue: String

    /// The code as it came.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The code as it came.
    public init(stringLiteral value: String) { rawValue = value }

    // RFC 6749, section 5.2.
    /// The code, password or refresh token is not valid, expired, revoked, or another client's.
    public static let invalidGrant: OAuthErrorCode = "invalid_grant"
    /// The client is not known to the service.
    public static let invalidClient: OAuthErrorCode = "invalid_client"
    /// The request is not of the right form.
    public static let invalidRequest: OAuthErrorCode = "invalid_request"
    /// The client may not use this grant.
    public static let unauthorizedClient: OAuthErrorCode = "unauthorized_client"
    /// The service does not have this grant.
    public static let unsupportedGrantType: OAuthErrorCode = "unsupported_grant_type"
    /// A scope is not known, or not allowed.
    public static let invalidScope: OAuthErrorCode = "invalid_scope"

    // RFC 8707, section 2; RFC 8693, section 2.2.2.
    /// The service does not know the API that a token was asked for, or does not issue tokens for it.
    public static let invalidTarget: OAuthErrorCode = "invalid_target"

    // RFC 6749, section 4.1.2.1.
    /// The user, or the service, refused.
    public static let accessDenied: OAuthErrorCode = "access_denied"
    /// The service failed.
    public static let serverError: OAuthErrorCode = "server_error"
    /// The service is overloaded or being worked on.
    public static let temporarilyUnavailable: OAuthErrorCode = "temporarily_unavailable"

    // RFC 8628, section 3.5.
    /// The user has not decided yet.
    public static let authorizationPending: OAuthErrorCode = "authorization_pending"
    /// The same, and the polls come too often.
    public static let slowDown: OAuthErrorCode = "slow_down"
    /// The device code has expired.
    public static let expiredToken: OAuthErrorCode = "expired_token"
}
