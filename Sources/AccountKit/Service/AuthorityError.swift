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

    /// An OAuth error response, such as `oauthError("invalid_grant")`, and the `error_description` if there is one (RFC
    /// 6749, section 5.2; RFC 8628, section 3.5).
    ///
    /// A service may send any code. Codes without a meaning for AccountKit never end a session.
    case oauthError(String, description: String? = nil)

    /// A 401 response, and the `error` of its Bearer challenge if there is one (RFC 6750, section 3).
    ///
    /// The error `invalid_token` means that the access token is no longer valid. After any other 401 response, AccountKit
    /// refreshes the tokens, if possible, to learn whether the session has ended.
    case unauthorized(error: String?)

    /// A 403 response, and the `error` of its Bearer challenge if there is one.
    case forbidden(error: String?)

    /// Another status from 400 to 499 in response to a request for tokens or for their revocation, without an OAuth error: the
    /// service refused the request and did not report a reason.
    case refused(status: Int)

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
