extension AccountError {
    /// A sign-in that the service accepted, and whose user it then did not tell.
    ///
    /// - Parameters:
    ///   - signal: What the question whose the tokens are was answered with.
    ///   - isRevoked: Whether the service has revoked the tokens.
    package init(identification signal: AuthoritySignal, isRevoked: Bool) {
        let (code, detail): (Code, String) =
            switch Ruling(on: signal, to: .signIn, .init(holdsRefreshToken: false)) {
            case .attemptFailed(let detail): (.serviceUnavailable, detail)
            case .keep(let reason) where reason.code == .cancelled: (.cancelled, "cancelled")
            case .keep(let reason) where reason.code == .misconfigured:
                (.misconfigured, reason.detail ?? reason.code.rawValue)
            case .keep(let reason): (.serviceUnavailable, reason.detail ?? reason.code.rawValue)
            default: (.serviceUnavailable, "no clear answer")
            }
        self.init(
            code,
            "the service accepted the sign-in, but did not say who signed in (\(detail)): nothing was changed"
                + (isRevoked
                    ? ", and the tokens were revoked" : "; the tokens stay valid at the service until they expire"),
            cause: signal)
    }
}
