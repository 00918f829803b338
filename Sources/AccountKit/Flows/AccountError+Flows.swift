import AccountSupport

extension AccountError {
    package init(notSignedIn signOut: SignOut) {
        let message =
            switch signOut.reason {
            case .neverSignedIn: "you are not signed in"
            case .signedOutByUser: "you have signed out"
            case .sessionEnded:
                "\(signOut.issuer ?? "the service") ended this session\(signOut.detail.map { " (\($0))" } ?? "")"
            }
        self.init(
            .notSignedIn, message, hint: signOut.reason == .neverSignedIn ? "sign in first" : "sign in again")
    }

    /// The error of a sign-in that stores no account, although the service issued tokens.
    package init(
        unused credentials: Credentials, because failure: AuthorityError, _ outcome: RevocationOutcome
    ) {
        let (code, reason): (Code, String) =
            switch SessionDecision.afterVerification(failure, .init(holdsRefreshToken: false)) {
            case .keep(let reason) where reason.code == .cancelled: (.cancelled, "\(reason)")
            case .keep(let reason) where reason.code == .misconfigured: (.misconfigured, "\(reason)")
            case .keep(let reason): (.serviceUnavailable, "\(reason)")
            case .clear(let detail): (.serviceUnavailable, detail)
            case .refreshOnce, .adoptStored: (.serviceUnavailable, "unexpected response")
            }
        let end =
            switch outcome {
            case .done: "they have been revoked"
            case .queued: "they will be revoked"
            case .notNeeded, .refused, .notSupported, .lost:
                "they could not be revoked, and stay valid until they expire"
            }
        let advice =
            switch failure {
            case _ where credentials.hasWrongType && credentials.proofKey != nil:
                ". Sign in without a key (on a command line, with --no-dpop)"
            case .forbidden(error: "insufficient_scope"), .unauthorized(error: "insufficient_scope"):
                ". Request the scope openid (on a command line, with --scope openid)"
            case _ where code == .serviceUnavailable: "; try again"
            default: ""
            }
        let what = credentials.hasWrongType ? " that cannot be used" : ", but did not identify the user"
        self.init(
            code,
            "the service issued tokens\(what) (\(reason)): \(end), and nothing was changed here\(advice)"
        )
    }

    /// Converts the failure of a sign-in. `advice` describes what the user can do if the service refused the input.
    package init(signIn failure: AuthorityError, advice: String) {
        switch SessionDecision.afterSignIn(failure) {
        case .refused(let detail):
            let message = "the service refused the sign-in (\(detail))"
            if detail.hasPrefix("invalid_grant") {
                self.init(.signInRefused, message, hint: advice)
            } else {
                self.init(.signInRefused, message + ": nothing was changed")
            }
        case .startOver: self.init(.signInRefused, "the code has expired", hint: "start again")
        case .unclear(let reason) where reason.code == .misconfigured:
            self.init(.misconfigured, "this sign-in is not possible: \(reason.detail ?? "misconfigured")")
        case .unclear(let reason) where reason.code == .cancelled:
            self.init(.cancelled, "the sign-in was cancelled: nothing was changed")
        case .unclear(let reason) where reason.code == .offline:
            self.init(
                .serviceUnavailable,
                "the service could not be reached (\(reason.detail ?? "offline"))",
                hint: "nothing was changed; check the address and the network, and try again")
        case .unclear(let reason) where reason.code == .busy:
            self.init(.busy, reason.detail ?? "\(reason)", hint: "nothing was changed; try again later")
        case .unclear(let reason) where reason.code == .untrustedTLS:
            self.init(
                .serviceUnavailable,
                "the connection to the service is not secure: \(reason.detail ?? "its certificate is not trusted")",
                // A detail about that variable contains its own advice.
                hint: reason.detail?.contains("SSL_CERT_FILE") == true
                    ? "nothing was changed"
                    : "nothing was changed; check the address, and the clock of this machine. "
                        + "For a private certificate authority, set SSL_CERT_FILE to the file of its certificate")
        case .unclear(let reason) where reason.code == .proxyAuthenticationRequired:
            self.init(
                .serviceUnavailable, "\(reason)",
                hint: "nothing was changed; add the user name and password to the address of the proxy")
        case .unclear(let reason):
            let what = reason.code == .unclearReply ? reason.detail ?? "\(reason)" : "\(reason)"
            self.init(
                .serviceUnavailable,
                "the service returned an unexpected response to the sign-in (\(what))",
                hint: "nothing was changed; try again")
        case .pollAgain:
            self.init(
                .serviceUnavailable,
                "the service returned an unexpected response to the sign-in", hint: "nothing was changed; try again")
        }
        cause = RequestFailure(failure)
    }
}

extension AccountError {
    /// The tokens could not be refreshed, and the stored access token is no longer valid.
    package init(notRefreshed reason: UnverifiedReason) {
        guard reason.code != .renewalRefused else {
            self.init(
                .renewalRefused,
                "the service no longer renews this session\(reason.detail.map { " (\($0))" } ?? ""); you are still signed in, but there "
                    + "is no valid token", hint: "sign in again")
            return
        }
        self.init(reason.errorCode, "the tokens could not be refreshed (\(reason)); you are still signed in")
        hint = reason.retryAfter.map { "try again in \($0.components.seconds) s" }
        if reason.refusesRenewal { hint = Self.signInIfRefusedAgain }
    }

    /// The hint if the service refused a refresh, or if the token is withheld. The commands add the one that signs in.
    package static let signInIfRefusedAgain = "if this continues, sign in again"

    /// The error of a request for tokens that are withheld. `reason` is why the service did not change that; `nil` if it was
    /// not asked.
    package init(withholding credentials: Credentials, _ reason: UnverifiedReason? = nil) {
        let own = credentials.withholdingReason
        let detail = reason?.detail.flatMap { $0 == own?.detail ? nil : " (\($0))" } ?? ""
        let code = (reason ?? own)?.errorCode ?? .serviceUnavailable
        guard credentials.hasWrongType, reason?.code != .wrongAccount else {
            self.init(
                code,
                "the service has reported that the stored token belongs to another user, so no program gets it until the service confirms the "
                    + "account\(detail)", hint: Self.signInIfRefusedAgain)
            return
        }
        self.init(
            code,
            "\(credentials.flawOfType(in: credentials)), so no program gets it until a refresh brings another token\(detail); "
                + "you are still signed in", hint: Self.signInIfRefusedAgain)
    }
}

extension UnverifiedReason {
    var errorCode: AccountError.Code {
        switch code {
        case .misconfigured: .misconfigured
        case .renewalRefused: .renewalRefused
        case .busy: .busy
        case .cannotSave: .inaccessible
        case .storeUnreachable: .storeUnreachable
        case .cancelled: .cancelled
        default: .serviceUnavailable
        }
    }
}
