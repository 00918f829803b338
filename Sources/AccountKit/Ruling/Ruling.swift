/// What is to be done about an account after an answer of its service. This is the only place that decides it.
///
/// *Only a definite authentication failure, or the user, clears an account.* So the definite ones are named, and
/// everything else keeps the account.
public enum Ruling: Hashable, Sendable {
    /// Keep the account, and say why it is not confirmed.
    case keep(UnverifiedReason)

    /// Not decided yet: refresh once, and ask again with the new token.
    case refreshOnce

    /// The answer was about a token that has meanwhile been replaced: keep and adopt the stored one.
    case adoptStored

    /// The service ended the session: clear the account. The text is the service's own code for it.
    case clear(String)

    /// This attempt to sign in failed; whatever was stored before stays.
    case attemptFailed(String)

    /// The user has not decided yet: ask again; from now on 5 s less often if `slowDown`.
    case pollAgain(slowDown: Bool)

    /// The code that the user was shown has expired: show a new one.
    case startOver

    /// The service could not be told of a sign-out: tell it later.
    case revokeLater

    /// What was asked of the service.
    public enum Request: Hashable, Sendable, CaseIterable {
        /// Whose is this token?
        case verify
        /// A new token, please.
        case refresh
        /// Sign in by password, code or given token.
        case signIn
        /// The user has signed out.
        case revoke
    }

    /// What was known when the answer came.
    public struct Circumstances: Hashable, Sendable {
        /// Whether the account holds a refresh token.
        public var holdsRefreshToken: Bool

        /// Whether the token that was sent is still the stored one. Only the holder of the archive's lock knows.
        public var sentTokenIsStored: Bool

        /// Whether the token that was sent had been refreshed for this very check.
        public var justRefreshed: Bool

        /// Puts circumstances together.
        public init(holdsRefreshToken: Bool, sentTokenIsStored: Bool = true, justRefreshed: Bool = false) {
            self.holdsRefreshToken = holdsRefreshToken
            self.sentTokenIsStored = sentTokenIsStored
            self.justRefreshed = justRefreshed
        }
    }

    /// Rules on the answer to a request that was not granted.
    public init(on signal: AuthoritySignal, to request: Request, _ circumstances: Circumstances) {
        if request == .revoke {
            self = Self.onRevocation(signal)
            return
        }
        switch signal {
        case .noReply(.cancelled): self = .keep(.init(.cancelled))
        case .noReply(let failure): self = .keep(.init(.offline, detail: "\(failure)"))
        // Of what was not sent, no answer is a definite one.
        case .notSent(let signal):
            let ruling = Ruling(on: signal, to: .verify, .init(holdsRefreshToken: false, justRefreshed: true))
            if case .keep = ruling { self = ruling } else { self = .keep(.init(.unclearReply)) }
        case .untrustedTLS(let detail): self = .keep(.init(.untrustedTLS, detail: detail))
        case .oauthError(let code, let description):
            self = Self.onOAuthError(code, description, request, circumstances)
        case .bearerChallenge(error: "invalid_token"): self = Self.onInvalidToken(request, circumstances)
        case .bearerChallenge(error: "insufficient_scope"), .forbidden(error: "insufficient_scope"):
            self = .keep(.init(.insufficientScope, detail: "the token's scopes do not allow it"))
        case .bearerChallenge(let error):
            let detail = "401 with \(error.map { "error \"\($0)\"" } ?? "no error code")"
            self = Self.onOtherUnauthorized(detail, request, circumstances)
        case .unauthorized:
            self = Self.onOtherUnauthorized("401 without a Bearer challenge", request, circumstances)
        case .badRequest: self = .keep(.init(.unclearReply, detail: "400 without an OAuth error"))
        case .forbidden: self = .keep(.init(.unclearReply, detail: "403"))
        case .proxyAuthenticationRequired:
            self = .keep(.init(.proxyAuthenticationRequired, detail: "a proxy asks for credentials (407)"))
        case .unavailable(429, let retryAfter): self = .keep(.init(.rateLimited, detail: "429", retryAfter: retryAfter))
        case .unavailable(let status, let retryAfter):
            self = .keep(.init(.serverError, detail: "\(status)", retryAfter: retryAfter))
        case .intercepted(let detail): self = .keep(.init(.captivePortal, detail: detail))
        case .unclear(let detail): self = .keep(.init(.unclearReply, detail: detail))
        case .otherUser: self = .keep(.init(.wrongAccount, detail: "the service says that the token is another user's"))
        case .misconfigured(let detail): self = .keep(.init(.misconfigured, detail: detail))
        case .rejected(let detail):
            self = request == .signIn ? .attemptFailed(detail) : Self.definite(detail, circumstances)
        case .signInRefused(let detail):
            self = request == .signIn ? .attemptFailed(detail) : .keep(.init(.unclearReply, detail: detail))
        }
    }

    /// A definite failure, if it is about the token that is stored.
    private static func definite(_ code: String, _ circumstances: Circumstances) -> Ruling {
        circumstances.sentTokenIsStored ? .clear(code) : .adoptStored
    }

    private static func onInvalidToken(_ request: Request, _ circumstances: Circumstances) -> Ruling {
        switch request {
        case .signIn: .attemptFailed("invalid_token")
        case .verify where circumstances.justRefreshed:
            .keep(.init(.unclearReply, detail: "401 for a token that was issued a moment ago"))
        case .verify where circumstances.holdsRefreshToken: .refreshOnce
        case .verify: definite("invalid_token", circumstances)
        // A token endpoint has no business with Bearer challenges.
        case .refresh, .revoke: .keep(.init(.unclearReply, detail: "401 from the token endpoint"))
        }
    }

    /// A 401 that does not say that the token is not valid. Many services mean it all the same, and the token endpoint
    /// knows.
    private static func onOtherUnauthorized(
        _ detail: String, _ request: Request, _ circumstances: Circumstances
    ) -> Ruling {
        request == .verify && circumstances.holdsRefreshToken && !circumstances.justRefreshed
            ? .refreshOnce : .keep(.init(.unclearReply, detail: detail))
    }

    private static func onOAuthError(
        _ code: OAuthErrorCode, _ description: String?, _ request: Request, _ circumstances: Circumstances
    ) -> Ruling {
        let detail = description.map { "\(code.rawValue): \($0)" } ?? code.rawValue
        switch (code, request) {
        case (.invalidGrant, .refresh): return definite(code.rawValue, circumstances)
        case (.invalidGrant, .signIn), (.accessDenied, .signIn): return .attemptFailed(detail)
        case (.authorizationPending, .signIn): return .pollAgain(slowDown: false)
        case (.slowDown, .signIn): return .pollAgain(slowDown: true)
        case (.expiredToken, .signIn): return .startOver
        case (.invalidClient, _), (.unauthorizedClient, _), (.unsupportedGrantType, _), (.invalidScope, _),
            (.invalidRequest, _):
            return .keep(.init(.misconfigured, detail: detail))
        case (.temporarilyUnavailable, _), (.serverError, _): return .keep(.init(.serverError, detail: detail))
        default: return .keep(.init(.unclearReply, detail: detail))
        }
    }

    /// The user is signed out here already; the question is only whether the service must be told again.
    private static func onRevocation(_ signal: AuthoritySignal) -> Ruling {
        switch signal {
        case .oauthError(.serverError, _), .oauthError(.temporarilyUnavailable, _): .revokeLater
        case .oauthError(let code, let description):
            .attemptFailed(description.map { "\(code.rawValue): \($0)" } ?? code.rawValue)
        case .badRequest: .attemptFailed("400")
        case .bearerChallenge, .unauthorized: .attemptFailed("401")
        case .rejected(let detail): .attemptFailed(detail)
        default: .revokeLater
        }
    }
}
