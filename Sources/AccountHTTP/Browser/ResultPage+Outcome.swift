import AccountKit

extension ResultPage {
    /// - Parameter secrets: What the page must not repeat, beside the tokens of the account.
    init(signedIn account: Account, hiding secrets: [Secret]) {
        let tokens = [account.credentials.accessToken, account.credentials.refreshToken, account.credentials.idToken]
        let text = ServerText(secrets: secrets + tokens.compactMap(\.self))
        let user = text.shown(account.username) ?? text.shown(account.id) ?? "a user without a name"
        self = .signedIn(user: user, issuer: account.issuer ?? "the service")
    }

    init(_ error: any Error, hiding secrets: [Secret]) {
        let text = ServerText(secrets: secrets)
        // Not from the service or the network, so it is about this machine.
        if let error = error as? AccountError, error.code != .cancelled {
            self = .failed(text.shown(error.message) ?? "an error in the terminal")
            return
        }
        let failure = error is AccountError ? .noResponse(.cancelled) : AuthorityError(error)
        switch failure {
        case .oauthError(.accessDenied, let description): self = .refused(text.shown(description))
        default: self = .failed(text.shown(Self.reason(failure)) ?? "the service gave an unexpected response")
        }
    }

    /// As the end of a sentence.
    private static func reason(_ failure: AuthorityError) -> String {
        switch failure {
        case .noResponse(.cancelled): "it was interrupted in the terminal"
        case .noResponse(let failure): "\(failure)"
        case .notSent(let failure): reason(failure)
        case .oauthError(.invalidGrant, let description):
            "the service says that the sign-in has expired or was used before" + bracketed(description)
        case .oauthError(.serverError, let description), .oauthError(.temporarilyUnavailable, let description):
            "the service returned a server error" + bracketed(description)
        case .oauthError(let code, let description):
            "the service responded with \(code.rawValue)" + bracketed(description)
        case .unavailable(let status, _): "the service returned a server error (\(status))"
        case .badRequest: "the service does not take the request (400)"
        case .bearerChallenge, .unauthorized, .forbidden: "the service does not take the token that it has just issued"
        case .proxyAuthenticationRequired: "a proxy asks for credentials"
        case .otherUser: "the service contradicts itself about who signed in"
        case .untrustedTLS(let detail), .intercepted(let detail), .unclear(let detail), .misconfigured(let detail),
            .rejected(let detail), .signInRefused(let detail):
            detail
        }
    }

    private static func bracketed(_ description: String?) -> String {
        description.map { " (\($0))" } ?? ""
    }
}
