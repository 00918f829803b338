import AccountKit
import Testing

/// Checks the table of responses in the documentation of `SessionDecision`, row by row.
struct SessionDecisionTests {
    /// The request that the service responded to.
    enum Request: CaseIterable { case verify, refresh, signIn, revoke, call }

    /// A decision without its message.
    enum Verdict: Hashable {
        case keep(UnverifiedReason.Code, retryAfter: Duration? = nil)
        case refreshOnce, adoptStored, refused, startOver, tryLater, returnResponse, askService
        case clear(String)
        case pollAgain(slowDown: Bool)

        init(on failure: AuthorityError, to request: Request, _ context: SessionDecision.Context) {
            self =
                switch request {
                case .verify: Self(SessionDecision.afterVerification(failure, context))
                case .refresh: Self(SessionDecision.afterRefresh(failure))
                case .signIn: Self(SessionDecision.afterSignIn(failure))
                case .revoke: Self(SessionDecision.afterRevocation(failure))
                case .call: Self(SessionDecision.afterCall(failure, context))
                }
        }

        var isClear: Bool { if case .clear = self { true } else { false } }

        private init(_ decision: SessionDecision.Verification) {
            self =
                switch decision {
                case .keep(let reason): .keep(reason.code, retryAfter: reason.retryAfter)
                case .refreshOnce: .refreshOnce
                case .adoptStored: .adoptStored
                case .clear(let code): .clear(code)
                }
        }

        private init(_ decision: SessionDecision.Call) {
            self =
                switch decision {
                case .keep: .returnResponse
                case .refreshOnce: .refreshOnce
                case .askService: .askService
                }
        }

        private init(_ decision: SessionDecision.Refresh) {
            self =
                switch decision {
                case .keep(let reason): .keep(reason.code, retryAfter: reason.retryAfter)
                case .clear(let code): .clear(code)
                }
        }

        private init(_ decision: SessionDecision.SignIn) {
            self =
                switch decision {
                case .refused: .refused
                case .unclear(let reason): .keep(reason.code, retryAfter: reason.retryAfter)
                case .pollAgain(let slowDown): .pollAgain(slowDown: slowDown)
                case .startOver: .startOver
                }
        }

        private init(_ decision: SessionDecision.Revocation) {
            self =
                switch decision {
                case .refused: .refused
                case .tryLater: .tryLater
                }
        }
    }

    /// The facts about the tokens when the response arrives.
    enum Known: CaseIterable {
        case holdsRefreshToken, noRefreshToken, tokenReplaced, tokenReplacedNoRefreshToken, justRefreshed

        var context: SessionDecision.Context {
            switch self {
            case .holdsRefreshToken: .init(holdsRefreshToken: true)
            case .noRefreshToken: .init(holdsRefreshToken: false)
            case .tokenReplaced: .init(holdsRefreshToken: true, sentTokenIsStored: false)
            case .tokenReplacedNoRefreshToken: .init(holdsRefreshToken: false, sentTokenIsStored: false)
            case .justRefreshed: .init(holdsRefreshToken: true, justRefreshed: true)
            }
        }
    }

    struct Row: CustomTestStringConvertible {
        let text: String
        let failure: AuthorityError
        let requests: [Request]
        let known: [Known]
        let verdict: Verdict

        init(
            _ text: String, _ failure: AuthorityError, to requests: [Request],
            when known: [Known] = Known.allCases, _ verdict: Verdict
        ) {
            self.text = text
            self.failure = failure
            self.requests = requests
            self.known = known
            self.verdict = verdict
        }

        var testDescription: String { "\(text): \(failure)" }
    }

    static let asking: [Request] = [.verify, .refresh, .signIn]

    static let table: [Row] = [
        // DNS, refused, unreachable, reset, timeout, cancelled, truncated or garbled response: transient, keep
        Row("no response", .noResponse(.unknownHost), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.refused), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.unreachable), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.reset), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.timeout), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.cancelled), to: asking, .keep(.cancelled)),
        Row("no response", .noResponse(.truncated), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.garbled), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.nameServer), to: asking, .keep(.offline)),
        Row("no response", .noResponse(.proxy), to: asking, .keep(.offline)),

        // TLS or certificate failure: unclear, keep and say so
        Row("TLS failure", .untrustedTLS("expired certificate"), to: asking, .keep(.untrustedTLS)),

        // Token endpoint `invalid_grant` on refresh, stored token unchanged: definite, clear
        Row(
            "invalid_grant on refresh", .oauthError("invalid_grant"), to: [.refresh], .clear("invalid_grant")),

        // `invalid_grant` on a sign-in's code or password; `access_denied`: that attempt failed, keep what is stored
        Row("invalid_grant on sign-in", .oauthError("invalid_grant"), to: [.signIn], .refused),
        Row("access_denied", .oauthError("access_denied"), to: [.signIn], .refused),
        Row(
            "access_denied without a sign-in", .oauthError("access_denied"), to: [.verify, .refresh],
            .keep(.unclearReply)
        ),

        // `invalid_client` and the like: misconfigured, keep and report
        Row("misconfigured", .oauthError("invalid_client"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .oauthError("unauthorized_client"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .oauthError("unsupported_grant_type"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .oauthError("invalid_scope"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .oauthError("invalid_request"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .misconfigured("no client id"), to: asking, .keep(.misconfigured)),
        Row("misconfigured", .oauthError("device_flow_disabled"), to: asking, .keep(.misconfigured)),
        Row("unknown error on refresh", .oauthError("session_limit_reached"), to: [.refresh], .keep(.unclearReply)),

        // Any other code on a sign-in: that attempt failed, and another one fails too
        Row("unknown error on sign-in", .oauthError("session_limit_reached"), to: [.signIn], .refused),
        Row("unknown error on sign-in", .oauthError("unauthorized"), to: [.signIn], .refused),
        Row("unknown error on sign-in", .oauthError("org_internal"), to: [.signIn], .refused),
        Row("unknown error on sign-in", .oauthError("incorrect_device_code"), to: [.signIn], .refused),
        Row("unknown error on sign-in", .oauthError("mfa_required"), to: [.signIn], .refused),
        Row("unknown error on sign-in", .oauthError("Bad Request"), to: [.signIn], .refused),

        // `temporarily_unavailable`, `server_error`: transient, keep
        Row("service in trouble", .oauthError("temporarily_unavailable"), to: asking, .keep(.serverError)),
        Row("service in trouble", .oauthError("server_error"), to: asking, .keep(.serverError)),
        Row("service in trouble", .oauthError("internal_error"), to: asking, .keep(.serverError)),
        Row("service in trouble", .oauthError("service_unavailable"), to: asking, .keep(.serverError)),
        Row("service in trouble", .oauthError("ratelimited"), to: asking, .keep(.serverError)),
        Row("service in trouble", .oauthError("too_many_requests"), to: asking, .keep(.serverError)),

        // `authorization_pending` / `slow_down` / `expired_token`: continue / poll 5 s slower from now on / start over
        Row("device flow", .oauthError("authorization_pending"), to: [.signIn], .pollAgain(slowDown: false)),
        Row("device flow", .oauthError("slow_down"), to: [.signIn], .pollAgain(slowDown: true)),
        Row("device flow", .oauthError("expired_token"), to: [.signIn], .startOver),
        Row(
            "device flow without a sign-in", .oauthError("expired_token"), to: [.verify, .refresh], .keep(.unclearReply)
        ),

        // Resource 401 `invalid_token`, a refresh token is held: refresh once, then retry once
        Row(
            "401 invalid_token", .unauthorized(error: "invalid_token"), to: [.verify],
            when: [.holdsRefreshToken, .tokenReplaced], .refreshOnce),

        // Resource 401 `invalid_token`, no refresh token: definite, clear
        Row(
            "401 invalid_token", .unauthorized(error: "invalid_token"), to: [.verify], when: [.noRefreshToken],
            .clear("invalid_token")),
        Row(
            "401 invalid_token, token replaced", .unauthorized(error: "invalid_token"), to: [.verify],
            when: [.tokenReplacedNoRefreshToken], .adoptStored),
        Row("401 for a given token", .unauthorized(error: "invalid_token"), to: [.signIn], .refused),
        Row(
            "401 from the token endpoint", .unauthorized(error: "invalid_token"), to: [.refresh],
            .keep(.unclearReply)),

        // 401 again with a token that was just refreshed: unclear, keep
        Row(
            "401 again", .unauthorized(error: "invalid_token"), to: [.verify], when: [.justRefreshed],
            .keep(.unclearReply)),

        // Any other 401 of the authority's own user info, a refresh token is held: refresh once, then retry once
        Row(
            "401 without error", .unauthorized(error: nil), to: [.verify],
            when: [.holdsRefreshToken, .tokenReplaced],
            .refreshOnce),
        Row(
            "401 with another error", .unauthorized(error: "invalid_request"), to: [.verify],
            when: [.holdsRefreshToken, .tokenReplaced], .refreshOnce),

        // 401 or 400 because of the proof of a key: unclear, keep
        Row("401 for a proof", .unauthorized(error: "use_dpop_nonce"), to: asking, .keep(.unclearReply)),
        Row("401 for a proof", .unauthorized(error: "invalid_dpop_proof"), to: asking, .keep(.unclearReply)),
        Row("400 for a proof", .oauthError("use_dpop_nonce"), to: asking, .keep(.unclearReply)),
        Row("400 for a proof", .oauthError("invalid_dpop_proof"), to: asking, .keep(.unclearReply)),
        Row("revocation, 400 for a proof", .oauthError("use_dpop_nonce"), to: [.revoke], .tryLater),
        Row("revocation, 400 for a proof", .oauthError("invalid_dpop_proof"), to: [.revoke], .tryLater),

        // The same without a refresh token, or from another service: unclear, keep
        Row(
            "401 without error, no refresh token", .unauthorized(error: nil), to: [.verify],
            when: [.noRefreshToken, .tokenReplacedNoRefreshToken, .justRefreshed], .keep(.unclearReply)),
        Row(
            "401 with another error, no refresh token", .unauthorized(error: "invalid_request"), to: [.verify],
            when: [.noRefreshToken, .tokenReplacedNoRefreshToken, .justRefreshed], .keep(.unclearReply)),
        Row(
            "401 without error elsewhere", .unauthorized(error: nil), to: [.refresh, .signIn], .keep(.unclearReply)),
        Row("400 without an OAuth error", .refused(status: 400), to: asking, .keep(.unclearReply)),

        // 403 `insufficient_scope`: permission, keep and report
        Row("403 scope", .forbidden(error: "insufficient_scope"), to: asking, .keep(.insufficientScope)),
        Row("401 scope", .unauthorized(error: "insufficient_scope"), to: asking, .keep(.insufficientScope)),

        // 403 otherwise, 404, 410: unclear, keep
        Row("403", .forbidden(error: nil), to: asking, .keep(.unclearReply)),
        Row("403 invalid_token", .forbidden(error: "invalid_token"), to: asking, .keep(.unclearReply)),
        Row("404", .unclear("404"), to: asking, .keep(.unclearReply)),
        Row("410", .unclear("410"), to: asking, .keep(.unclearReply)),
        Row("404 from the token endpoint", .refused(status: 404), to: asking, .keep(.unclearReply)),
        Row("addresses", .oauthError("invalid_redirect_uri"), to: asking, .keep(.misconfigured)),
        Row("addresses", .oauthError("redirect_uri_mismatch"), to: asking, .keep(.misconfigured)),
        Row("target", .oauthError("invalid_target"), to: asking, .keep(.misconfigured)),

        // 407: proxy, keep and report
        Row("407", .proxyAuthenticationRequired, to: asking, .keep(.proxyAuthenticationRequired)),

        // 408, 425, 429, 5xx: transient, keep, honor Retry-After
        Row("408", .unavailable(status: 408, retryAfter: nil), to: asking, .keep(.serverError)),
        Row("425", .unavailable(status: 425, retryAfter: nil), to: asking, .keep(.serverError)),
        Row(
            "429", .unavailable(status: 429, retryAfter: .seconds(30)), to: asking,
            .keep(.rateLimited, retryAfter: .seconds(30))),
        Row("500", .unavailable(status: 500, retryAfter: nil), to: asking, .keep(.serverError)),
        Row("502", .unavailable(status: 502, retryAfter: nil), to: asking, .keep(.serverError)),
        Row(
            "503", .unavailable(status: 503, retryAfter: .seconds(5)), to: asking,
            .keep(.serverError, retryAfter: .seconds(5))),
        Row("504", .unavailable(status: 504, retryAfter: nil), to: asking, .keep(.serverError)),

        // 511; a redirect from an API endpoint; 200 with HTML or unparsable JSON: captive portal or unclear, keep
        Row("511", .intercepted("511"), to: asking, .keep(.captivePortal)),
        Row("redirect", .intercepted("302 to another host"), to: asking, .keep(.captivePortal)),
        Row("200 with HTML", .intercepted("a web page"), to: asking, .keep(.captivePortal)),
        Row("200 without JSON", .unclear("no JSON"), to: asking, .keep(.unclearReply)),

        // 200 token response without `access_token`: unclear, keep
        Row("200 without access_token", .unclear("no access_token"), to: [.refresh, .signIn], .keep(.unclearReply)),

        // User info with another user's `sub`: wrong account, keep, do not adopt, report
        Row("other user", .otherUser(id: "2"), to: asking, .keep(.wrongAccount)),

        // Revocation unreachable or 503: signed out locally at once; retry later
        Row("revocation unreachable", .noResponse(.unreachable), to: [.revoke], .tryLater),
        Row("revocation timed out", .noResponse(.timeout), to: [.revoke], .tryLater),
        Row("revocation 503", .unavailable(status: 503, retryAfter: nil), to: [.revoke], .tryLater),
        Row("revocation intercepted", .intercepted("511"), to: [.revoke], .tryLater),
        Row("revocation temporarily unavailable", .oauthError("temporarily_unavailable"), to: [.revoke], .tryLater),
        Row("revocation refused", .oauthError("unsupported_token_type"), to: [.revoke], .refused),
        Row("revocation refused", .oauthError("invalid_client"), to: [.revoke], .refused),
        Row("revocation refused", .unauthorized(error: nil), to: [.revoke], .refused),
        Row("revocation refused", .refused(status: 400), to: [.revoke], .refused),
        Row("no revocation here", .unclear("404"), to: [.revoke], .tryLater),
        Row("revocation of a dead token", .oauthError("invalid_grant"), to: [.revoke], .refused),

        // An app's own authority responds "rejected": definite, clear
        Row(
            "rejected", .rejected("account closed"), to: [.verify],
            when: [.holdsRefreshToken, .noRefreshToken, .justRefreshed], .clear("account closed")),
        Row("rejected", .rejected("account closed"), to: [.refresh], .clear("account closed")),
        Row(
            "rejected, token replaced", .rejected("account closed"), to: [.verify],
            when: [.tokenReplaced, .tokenReplacedNoRefreshToken], .adoptStored),
        Row("rejected on sign-in", .rejected("account closed"), to: [.signIn], .refused),
        Row("wrong password", .signInRefused("wrong password"), to: [.signIn], .refused),
        Row("wrong password without a sign-in", .signInRefused("?"), to: [.verify, .refresh], .keep(.unclearReply)),
    ]

    /// An API refuses a token. Any 401 causes one refresh, unless it is about the proof in the request.
    private static let refusedCalls: [Row] =
        [
            .unauthorized(error: nil), .unauthorized(error: "invalid_token"),
            .unauthorized(error: "invalid_request"), .unauthorized(error: "insufficient_scope"),
            .unauthorized(error: "expired_token"), .unauthorized(error: "insufficient_user_authentication"),
        ].map { failure in
            Row("401 of an API", failure, to: [.call], when: [.holdsRefreshToken, .tokenReplaced], .refreshOnce)
        }

    static let calls: [Row] =
        refusedCalls + [
            Row(
                "401 again", .unauthorized(error: "invalid_token"), to: [.call], when: [.justRefreshed],
                .returnResponse),
            Row("401 again", .unauthorized(error: nil), to: [.call], when: [.justRefreshed], .returnResponse),
            Row(
                "401 invalid_token, no refresh token", .unauthorized(error: "invalid_token"), to: [.call],
                when: [.noRefreshToken, .tokenReplacedNoRefreshToken], .askService),
            Row(
                "401, no refresh token", .unauthorized(error: nil), to: [.call], when: [.noRefreshToken],
                .returnResponse),
            Row("401 for a proof", .unauthorized(error: "use_dpop_nonce"), to: [.call], .returnResponse),
            Row("401 for a proof", .unauthorized(error: "invalid_dpop_proof"), to: [.call], .returnResponse),
            Row("403", .forbidden(error: "invalid_token"), to: [.call], .returnResponse),
            Row("503", .unavailable(status: 503, retryAfter: nil), to: [.call], .returnResponse),
            Row("web page", .intercepted("a web page"), to: [.call], .returnResponse),
            Row("no response", .noResponse(.reset), to: [.call], .returnResponse),
            Row("rejected", .rejected("closed"), to: [.call], .returnResponse),
        ]

    @Test(arguments: table + calls) func `Maps each response to the decision in the table`(row: Row) {
        for request in row.requests {
            for known in row.known {
                let verdict = Verdict(on: row.failure, to: request, known.context)
                #expect(verdict == row.verdict, "to \(request), \(known)")
            }
        }
    }

    @Test func `The text for a proxy that requires credentials has no repetition`() {
        let reason = SessionDecision.reason(for: .proxyAuthenticationRequired)
        #expect("\(reason)" == "a proxy requires a user name and password: 407")
    }

    // MARK: Definite rejections

    /// Each kind of failure, with each text that resembles a definite rejection.
    static let failures: [AuthorityError] = {
        let codes: [String] = [
            "invalid_grant", "invalid_client", "invalid_request", "unauthorized_client", "unsupported_grant_type",
            "invalid_scope",
            "access_denied", "server_error", "temporarily_unavailable", "authorization_pending", "slow_down",
            "expired_token",
            "unsupported_token_type", "invalid_token", "INVALID_GRANT", "invalid_grant ", "", "login_required",
            "use_dpop_nonce", "invalid_dpop_proof",
        ]
        let errors = [
            nil, "invalid_token", "INVALID_TOKEN", "invalid_request", "insufficient_scope", "invalid_grant", "",
            "use_dpop_nonce", "invalid_dpop_proof",
        ]
        let statuses = [408, 425, 429, 500, 502, 503, 504, 599]
        var failures = AuthorityError.Failure.Kind.allCases.map { AuthorityError.noResponse(.init($0)) }
        failures += codes.flatMap { [.oauthError($0), .oauthError($0, description: "invalid_grant")] }
        failures += errors.flatMap { [.unauthorized(error: $0), .forbidden(error: $0)] }
        failures += statuses.flatMap {
            [.unavailable(status: $0, retryAfter: nil), .unavailable(status: $0, retryAfter: .seconds(1))]
        }
        failures += [400, 404, 405, 410, 422].map { .refused(status: $0) }
        failures += [.untrustedTLS("invalid_token"), .proxyAuthenticationRequired]
        failures += [.intercepted("invalid_grant"), .unclear("invalid_token"), .otherUser(id: "2")]
        failures += [.misconfigured("invalid_grant"), .rejected("closed"), .signInRefused("invalid_grant")]
        return failures
    }()

    static let contexts: [SessionDecision.Context] = [true, false].flatMap { holds in
        [true, false].flatMap { isStored in
            [true, false].map {
                .init(holdsRefreshToken: holds, sentTokenIsStored: isStored, justRefreshed: $0)
            }
        }
    }

    @Test(arguments: Request.allCases)
    func `Clears an account only after an explicit rejection of its stored token`(request: Request) {
        var clearCount = 0
        for failure in Self.failures {
            for known in Self.contexts {
                let isNamed =
                    switch (failure, request) {
                    case (.oauthError("invalid_grant", _), .refresh): true
                    case (.unauthorized(error: "invalid_token"), .verify):
                        !known.holdsRefreshToken && !known.justRefreshed
                    case (.rejected, .verify), (.rejected, .refresh): true
                    default: false
                    }
                let verdict = Verdict(on: failure, to: request, known)
                if case .clear = verdict { clearCount += 1 }
                let isClear = if case .clear = verdict { true } else { false }
                // For a refresh, the state machine compares the tokens.
                let isStored = request == .refresh || known.sentTokenIsStored
                #expect(isClear == (isNamed && isStored), "\(failure), \(known)")
                #expect((verdict == .adoptStored) == (isNamed && !isStored), "\(failure), \(known)")
            }
        }
        #expect((clearCount > 0) == (request == .verify || request == .refresh))
    }

    @Test func `Does not refresh a token that was just refreshed`() {
        for failure in Self.failures {
            for known in Self.contexts where known.justRefreshed || !known.holdsRefreshToken {
                for request in Request.allCases {
                    #expect(
                        Verdict(on: failure, to: request, known) != .refreshOnce, "\(failure), \(request), \(known)")
                }
            }
        }
    }

    @Test func `Refreshes after a derivation only if the service refused the tokens`() {
        for failure in Self.failures {
            let isRefusal = Verdict(on: failure, to: .refresh, .init(holdsRefreshToken: true)).isClear
            switch SessionDecision.afterDerivation(failure) {
            case .refreshOnce(let reason): #expect(isRefusal && reason.code == .misconfigured, "\(failure)")
            case .keep: #expect(!isRefusal, "\(failure)")
            }
        }
        for code in [
            "access_denied", "consent_required", "login_required", "interaction_required",
            "account_selection_required",
        ] {
            guard case .keep(let reason) = SessionDecision.afterDerivation(.oauthError(code)) else {
                Issue.record("\(code)")
                continue
            }
            #expect(reason.code == .misconfigured)
            #expect(SessionDecision.afterTokenExchange(.oauthError(code)) == reason)
        }
    }

    // MARK: Refusals to renew

    /// Responses of the token endpoint to a refresh that another attempt will probably not change.
    static let refusals: [AuthorityError] = [
        .oauthError("interaction_required"), .oauthError("login_required"), .oauthError("consent_required"),
        .oauthError("bad_refresh_token"), .oauthError("token_expired"), .oauthError("invalid_refresh_token"),
        .oauthError("unauthorized"), .oauthError("deleted_client"), .oauthError("org_internal"),
        .oauthError("admin_policy_enforced"), .oauthError("mfa_required"), .oauthError("invalid_token"),
        .oauthError("expired_token"),
        .oauthError("access_denied"), .oauthError("unauthorized_client"), .oauthError("unsupported_grant_type"),
        .oauthError("invalid_request"), .oauthError("invalid_scope"), .oauthError("invalid_target"), .oauthError(""),
        .refused(status: 400), .refused(status: 404), .refused(status: 410), .refused(status: 422),
        .unauthorized(error: nil), .unauthorized(error: "invalid_token"), .forbidden(error: nil),
        .forbidden(error: "insufficient_scope"),
    ]

    /// Responses that leave open whether the service renews the session.
    static let others: [AuthorityError] = [
        .noResponse(.timeout), .noResponse(.cancelled), .untrustedTLS("expired"), .oauthError("server_error"),
        .oauthError("temporarily_unavailable"), .oauthError("slow_down"), .oauthError("authorization_pending"),
        .oauthError("invalid_client"), .oauthError("incorrect_client_credentials"), .oauthError("ratelimited"),
        .oauthError("internal_error"), .oauthError("use_dpop_nonce"), .oauthError("invalid_dpop_proof"),
        .unauthorized(error: "invalid_dpop_proof"), .proxyAuthenticationRequired, .intercepted("a web page"),
        .unavailable(status: 429, retryAfter: nil), .unavailable(status: 503, retryAfter: nil),
        .unclear("200 without access_token"), .otherUser(id: "2"), .misconfigured("no token endpoint"),
        .notSent(.oauthError("invalid_request")), .notSent(.refused(status: 404)),
    ]

    @Test(arguments: refusals) func `Keeps the account after a refusal to renew, and says so without a token`(
        failure: AuthorityError
    ) {
        #expect(SessionDecision.refusesRenewal(failure))
        guard case .keep(let reason) = SessionDecision.afterRefresh(failure) else {
            Issue.record("\(failure)")
            return
        }
        // With a valid access token, the session works.
        #expect(reason.code != .renewalRefused && reason.refusesRenewal)
        let ended = SessionDecision.withoutToken(reason)
        #expect(ended.code == .renewalRefused && ended.detail == reason.detail)
    }

    @Test(arguments: others) func `Keeps other reasons after a failed refresh`(failure: AuthorityError) {
        #expect(!SessionDecision.refusesRenewal(failure))
        guard case .keep(let reason) = SessionDecision.afterRefresh(failure) else {
            Issue.record("\(failure)")
            return
        }
        #expect(!reason.refusesRenewal && SessionDecision.withoutToken(reason) == reason)
    }

    @Test func `Maps an unknown error to unclear, and a cancellation to no response`() {
        struct Mistake: Error {}
        let mistake = AuthorityError(Mistake())
        #expect(Verdict(on: mistake, to: .refresh, .init(holdsRefreshToken: true)) == .keep(.unclearReply))
        #expect(AuthorityError(CancellationError()) == .noResponse(.cancelled))
        #expect(AuthorityError(AuthorityError.unauthorized(error: nil)) == .unauthorized(error: nil))
    }
}
