/// Decides what a failed request means for the session. *Only the user, or an explicit rejection by the service, clears
/// an account.* For this reason the functions list the rejections, and keep the account after any other response.
package enum SessionDecision {
    package struct Context: Hashable, Sendable {
        package var holdsRefreshToken: Bool

        /// Whether the token that was sent is still the stored token. Only the holder of the archive's lock can tell.
        package var sentTokenIsStored: Bool

        package var justRefreshed: Bool

        package init(holdsRefreshToken: Bool, sentTokenIsStored: Bool = true, justRefreshed: Bool = false) {
            self.holdsRefreshToken = holdsRefreshToken
            self.sentTokenIsStored = sentTokenIsStored
            self.justRefreshed = justRefreshed
        }
    }

    package enum Verification: Hashable, Sendable {
        case keep(UnverifiedReason)

        /// The response is not conclusive: refresh once, and verify the account again with the new token.
        case refreshOnce

        /// The response was about a token that has been replaced since then: keep the account, and adopt the stored
        /// token.
        case adoptStored

        /// The service ended the session: clear the account. The text is the error code of the service.
        case clear(String)
    }

    package enum Refresh: Hashable, Sendable {
        case keep(UnverifiedReason)

        /// Clear the account if the token that was sent is still the stored token. The text is the service's error
        /// code.
        case clear(String)
    }

    package enum Derivation: Hashable, Sendable {
        case keep(UnverifiedReason)

        /// Refresh once without a target. The response to that refresh determines whether the session has ended.
        case refreshOnce(UnverifiedReason)
    }

    /// The action after an API has responded to a request with the access token.
    package enum Call: Hashable, Sendable {
        /// Return the response: it does not concern the token, or another token would not change it.
        case keep

        /// Refresh once, and send the request again with the new token.
        case refreshOnce

        /// Ask the service whether the session has ended, because an API cannot end it.
        case askService
    }

    package enum SignIn: Hashable, Sendable {
        case refused(String)
        case unclear(UnverifiedReason)

        /// The user has not approved or denied the sign-in yet: poll again. If `slowDown` is `true`, increase the
        /// interval by 5 s from now on.
        case pollAgain(slowDown: Bool)

        /// The code that the app showed to the user has expired: show a new code.
        case startOver
    }

    /// The action after a revocation request. The user is already signed out on this machine.
    package enum Revocation: Hashable, Sendable {
        case refused(String)
        case tryLater
    }

    // MARK: The decisions

    package static func afterVerification(_ failure: AuthorityError, _ context: Context) -> Verification {
        switch failure {
        case .unauthorized(error: "invalid_token"):
            if context.justRefreshed {
                return .keep(.init(.unclearReply, detail: "401 for a token that was issued a moment ago"))
            }
            if context.holdsRefreshToken { return .refreshOnce }
            return context.sentTokenIsStored ? .clear("invalid_token") : .adoptStored
        // These errors are about the proof in the request, and not about the token (RFC 9449, sections 7.1 and 9).
        case .unauthorized(error: let code?) where isAboutProof(code): return .keep(reason(for: failure))
        // A 401 response that does not call the token invalid. Many services respond like this to an invalid token, so
        // a refresh must show whether the session has ended.
        case .unauthorized(error: let code) where code != "insufficient_scope" && context.mayRefresh:
            return .refreshOnce
        case .rejected(let detail): return context.sentTokenIsStored ? .clear(detail) : .adoptStored
        default: return .keep(reason(for: failure))
        }
    }

    /// Decides what the response of an API to a request with the access token means. An API need not say why it refuses
    /// a token, and many say nothing, so any 401 for a token that has not been refreshed since causes one refresh. Only
    /// the response to that refresh can end the session. `holdsRefreshToken` also stands for a client without a user,
    /// which needs no refresh token.
    package static func afterCall(_ failure: AuthorityError, _ context: Context) -> Call {
        switch failure {
        case .unauthorized(error: let code?) where isAboutProof(code): .keep
        case .unauthorized where context.mayRefresh: .refreshOnce
        case .unauthorized(error: "invalid_token") where !context.holdsRefreshToken: .askService
        default: .keep
        }
    }

    package static func afterRefresh(_ failure: AuthorityError) -> Refresh {
        switch failure {
        case .oauthError("invalid_grant", _): .clear("invalid_grant")
        case .rejected(let detail): .clear(detail)
        // A Bearer challenge is not a valid response from a token endpoint.
        case .unauthorized(error: "invalid_token"):
            .keep(refusal(.init(.unclearReply, detail: "401 from the token endpoint")))
        case _ where refusesRenewal(failure): .keep(refusal(reason(for: failure)))
        default: .keep(reason(for: failure))
        }
    }

    /// Returns whether a failed refresh is a refusal that is not definite, and that another attempt will probably not change.
    /// The service examined the request, so neither the network nor a pause helps. Such a refusal never ends the session.
    ///
    /// A refusal of the client (`invalid_client`) is not about the session: a refresh with the right client succeeds.
    package static func refusesRenewal(_ failure: AuthorityError) -> Bool {
        switch failure {
        case .oauthError(let code, _): !isAboutProof(code) && !leavesRenewalOpen.contains(code)
        case .unauthorized(error: let code?) where isAboutProof(code): false
        case .refused, .unauthorized, .forbidden: true
        default: false
        }
    }

    private static func refusal(_ reason: UnverifiedReason) -> UnverifiedReason {
        var result = reason
        result.refusesRenewal = true
        return result
    }

    private static let leavesRenewalOpen = passes.union([
        "invalid_grant", "invalid_client", "incorrect_client_credentials", "slow_down", "authorization_pending",
    ])

    /// Errors that another attempt may resolve (RFC 6749, section 4.1.2.1). Some services send a code of their own in a response
    /// whose status is not that of such an error: Slack with 200, and Auth0 with 400.
    private static let passes: Set<String> = [
        "temporarily_unavailable", "server_error", "internal_error", "fatal_error", "service_unavailable",
        "request_timeout",
        "ratelimited", "too_many_requests",
    ]

    /// Returns why the account is not confirmed if the service accepts its access token no longer: the token has expired, or
    /// an API refused it. After a refusal to renew the session, only another sign-in brings a token.
    package static func withoutToken(_ reason: UnverifiedReason) -> UnverifiedReason {
        guard reason.refusesRenewal else { return reason }
        var result = reason
        result.code = .renewalRefused
        return result
    }

    /// Decides what a failed request for a derived token means. A service also responds with `invalid_grant` if the
    /// user has not consented to the API, or if the service requires another factor. In these cases the refresh token
    /// is still valid.
    package static func afterDerivation(_ failure: AuthorityError) -> Derivation {
        switch failure {
        case .oauthError("invalid_grant", _): .refreshOnce(afterTokenExchange(failure))
        case .rejected(let detail): .refreshOnce(.init(.misconfigured, detail: detail))
        default: .keep(afterTokenExchange(failure))
        }
    }

    /// Returns the reason for a failed token exchange (RFC 8693). Such an error never ends the session, since
    /// `invalid_grant` may be about either of the two tokens.
    package static func afterTokenExchange(_ failure: AuthorityError) -> UnverifiedReason {
        switch failure {
        case .oauthError(let code, let description) where refusesRequest.contains(code):
            .init(.misconfigured, detail: text(code, description))
        default: reason(for: failure)
        }
    }

    private static let refusesRequest = refusesSignIn.union(["unsupported_token_type"])

    private static let refusesSignIn = needsUser.union(["invalid_grant", "access_denied"])

    /// Errors that the user can resolve at the service (OpenID Connect Core, section 3.1.2.6).
    private static let needsUser: Set<String> = [
        "consent_required", "login_required", "interaction_required", "account_selection_required",
    ]

    package static func afterSignIn(_ failure: AuthorityError) -> SignIn {
        switch failure {
        case .oauthError("authorization_pending", _): .pollAgain(slowDown: false)
        case .oauthError("slow_down", _): .pollAgain(slowDown: true)
        case .oauthError("expired_token", _): .startOver
        // A service may have any further codes of its own, and must not be asked again after them (RFC 8628, section 3.5).
        case .oauthError(let code, let description)
        where !passes.contains(code) && !refusesSettings.contains(code) && !isAboutProof(code):
            .refused(text(code, description))
        case .unauthorized(error: "invalid_token"): .refused("invalid_token")
        case .rejected(let detail), .signInRefused(let detail): .refused(detail)
        default: .unclear(reason(for: failure))
        }
    }

    package static func afterRevocation(_ failure: AuthorityError) -> Revocation {
        switch failure {
        case .oauthError("server_error", _), .oauthError("temporarily_unavailable", _): .tryLater
        case .oauthError(let code, _) where isAboutProof(code): .tryLater
        case .oauthError(let code, let description): .refused(text(code, description))
        case .refused(status: 400): .refused("400")
        case .unauthorized: .refused("401")
        case .rejected(let detail): .refused(detail)
        default: .tryLater
        }
    }

    // MARK: Failures without a decision

    /// Returns whether an error is about the proof in the request (RFC 9449, sections 5, 7.1 and 8). The service did not
    /// examine the token.
    private static func isAboutProof(_ code: String) -> Bool {
        code == "invalid_dpop_proof" || code == "use_dpop_nonce"
    }

    package static func reason(for failure: AuthorityError) -> UnverifiedReason {
        switch failure {
        case .noResponse(.cancelled): .init(.cancelled)
        case .noResponse(let failure) where [.leaseLost, .noThread].contains(failure.kind):
            .init(.busy, detail: "\(failure)")
        case .noResponse(let failure): .init(.offline, detail: "\(failure)")
        // A request that was not sent cannot be rejected.
        case .notSent(let failure): reason(for: failure)
        case .untrustedTLS(let detail): .init(.untrustedTLS, detail: detail)
        case .oauthError(let code, let description):
            switch code {
            case let code where refusesSettings.contains(code):
                .init(.misconfigured, detail: text(code, description))
            case let code where passes.contains(code): .init(.serverError, detail: text(code, description))
            case "invalid_dpop_proof":
                .init(.unclearReply, detail: text(code, description) + " (is the clock of this machine right?)")
            default: .init(.unclearReply, detail: text(code, description))
            }
        case .unauthorized(error: "insufficient_scope"), .forbidden(error: "insufficient_scope"):
            .init(.insufficientScope, detail: "the token's scopes do not allow this request")
        case .unauthorized(let code):
            .init(.unclearReply, detail: "401 with \(code.map { "error \"\($0)\"" } ?? "no error code")")
        case .refused(status: 400): .init(.unclearReply, detail: "400 without an OAuth error")
        case .refused(let status): .init(.unclearReply, detail: "\(status) from the token endpoint")
        case .forbidden: .init(.unclearReply, detail: "403")
        case .proxyAuthenticationRequired:
            .init(.proxyAuthenticationRequired, detail: "407")
        case .unavailable(429, let retryAfter): .init(.rateLimited, detail: "429", retryAfter: retryAfter)
        case .unavailable(let status, let retryAfter):
            .init(.serverError, detail: "\(status)", retryAfter: retryAfter)
        case .intercepted(let detail): .init(.captivePortal, detail: detail)
        case .unclear(let detail), .rejected(let detail), .signInRefused(let detail):
            .init(.unclearReply, detail: detail)
        case .otherUser: .init(.wrongAccount)
        case .misconfigured(let detail): .init(.misconfigured, detail: detail)
        }
    }

    /// Errors about the client or the request, which the user can change with the settings at the service, or with options of
    /// the sign-in (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707, section 2; OpenID Connect Core,
    /// section 3.1.2.6). Google reports `redirect_uri_mismatch`, and GitHub
    /// `device_flow_disabled` and `incorrect_client_credentials`.
    private static let refusesSettings: Set<String> = [
        "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_request",
        "invalid_target",
        "unsupported_response_type", "invalid_redirect_uri", "redirect_uri_mismatch", "invalid_client_metadata",
        "invalid_request_uri", "request_not_supported", "request_uri_not_supported", "device_flow_disabled",
        "incorrect_client_credentials",
    ]

    private static func text(_ code: String, _ description: String?) -> String {
        description.map { "\(code): \($0)" } ?? code
    }
}

extension SessionDecision.Context {
    fileprivate var mayRefresh: Bool { holdsRefreshToken && !justRefreshed }
}
