import AccountKit

extension ResultPage {
    /// - Parameter secrets: Values that must not appear on the page, in addition to the tokens of the account.
    init(signedIn account: Account, hiding secrets: [Secret]) {
        let text = ServerText(secrets: secrets + account.credentials.tokens)
        let user = text.shown(account.username) ?? text.shown(account.id) ?? "an unnamed user"
        self = .signedIn(user: user, issuer: account.issuer ?? "the service")
    }

    init(_ error: any Error, hiding secrets: [Secret]) {
        let text = ServerText(secrets: secrets)
        // The error did not come from the service or the network, so the error concerns this machine.
        if let error = error as? AccountError, error.code != .cancelled {
            self = .failed(text.shown(error.message) ?? "see the error in the terminal")
            return
        }
        let failure = error is AccountError ? .noResponse(.cancelled) : AuthorityError(error)
        switch failure {
        case .oauthError("access_denied", let description): self = .refused(text.shown(description))
        default: self = .failed(text.shown(Self.reason(failure)) ?? "the service returned an unexpected response")
        }
    }

    private static func reason(_ failure: AuthorityError) -> String {
        switch failure {
        case .noResponse(.cancelled): "the sign-in was cancelled in the terminal"
        case .noResponse(let failure): "\(failure)"
        case .notSent(let failure): reason(failure)
        case .oauthError("invalid_grant", let description):
            "the service reports that the sign-in has expired or was already used" + bracketed(description)
        case .oauthError("server_error", let description), .oauthError("temporarily_unavailable", let description):
            "the service returned a server error" + bracketed(description)
        case .oauthError(let code, let description):
            "the service responded with \(code)" + bracketed(description)
        case .unavailable(let status, _): "the service returned a server error (\(status))"
        case .refused(let status): "the service rejected the request (\(status))"
        case .unauthorized, .forbidden: "the service rejected the token that it just issued"
        case .proxyAuthenticationRequired: "a proxy requires credentials"
        case .otherUser: "the service returned contradictory information about the user"
        case .untrustedTLS(let detail), .intercepted(let detail), .unclear(let detail), .misconfigured(let detail),
            .rejected(let detail), .signInRefused(let detail):
            detail
        }
    }

    private static func bracketed(_ description: String?) -> String {
        description.map { " (\($0))" } ?? ""
    }
}
