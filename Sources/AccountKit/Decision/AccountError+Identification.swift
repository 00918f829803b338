extension AccountError {
    /// A sign-in that the service accepted, and whose user it then did not tell.
    ///
    /// - Parameters:
    ///   - failure: What the question whose the tokens are was answered with.
    ///   - isRevoked: Whether the service has revoked the tokens.
    package init(identification failure: AuthorityError, isRevoked: Bool) {
        let (code, detail): (Code, String) =
            switch SessionDecision.afterSignIn(failure) {
            case .refused(let detail): (.serviceUnavailable, detail)
            case .unclear(let reason) where reason.code == .cancelled: (.cancelled, "cancelled")
            case .unclear(let reason) where reason.code == .misconfigured:
                (.misconfigured, reason.detail ?? reason.code.rawValue)
            case .unclear(let reason): (.serviceUnavailable, reason.detail ?? reason.code.rawValue)
            case .pollAgain, .startOver: (.serviceUnavailable, "unexpected response")
            }
        self.init(
            code,
            "the service accepted the sign-in, but did not say who signed in (\(detail)): nothing was changed"
                + (isRevoked
                    ? ", and the tokens were revoked" : "; the tokens stay valid at the service until they expire"),
            cause: failure)
    }
}
