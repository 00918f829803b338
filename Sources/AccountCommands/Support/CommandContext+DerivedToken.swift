import AccountKit

extension CommandContext {
    /// Returns a valid token for another API, deriving it first if needed. If `minimumValidity` is `nil`, the
    /// store's default determines for how long the token must be valid. Errors about the target do not sign the user
    /// out.
    func withDerivedToken(
        for target: TokenTarget, of account: Account, minimumValidity: Duration?
    ) async throws -> DerivedToken {
        let now = SystemWallClock().now
        let kept = account.credentials.derivedToken(for: target)
        // Don't return a stored token early if the app has a fixed service: the app also checks that the account is
        // from this service.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld, let kept,
            kept.credentials.isGood(for: minimumValidity, at: now)
        {
            return kept
        }
        let authority = try authority(of: account)
        guard authority.derivesTokens else {
            throw AccountError(.misconfigured, "the service of this tool does not issue tokens for other APIs")
        }
        let isUsable = kept.map { !$0.credentials.isExpired(at: now) } == true
        let timeout: Duration? = isUsable ? .seconds(5) : nil
        let limit = timeout ?? authority.tokenRequestTimeout
        return try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
            try await store.derivedToken(
                for: target, minimumValidity: minimumValidity, timeout: timeout, with: authority)
        }
    }
}
