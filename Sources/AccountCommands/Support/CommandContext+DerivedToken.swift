import AccountKit

extension CommandContext {
    /// A token for another API that is good for a while, derived first if need be.
    ///
    /// - Parameters:
    ///   - target: What the token is to be for.
    ///   - account: The account as it was read.
    ///   - minimumValidity: For how long the token should still be good; `nil` leaves that to the store.
    /// - Throws: An error that says why there is none. Nobody is signed out for what the service says of the target.
    func withDerivedToken(
        for target: TokenTarget, of account: Account, minimumValidity: Duration?
    ) async throws -> DerivedToken {
        let now = SystemWallClock().now
        let kept = account.credentials.derivedToken(for: target)
        // As with the account's own token: an app that knows its service makes sure that it is the account's, too.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld, let kept,
            kept.credentials.isGood(for: minimumValidity, at: now)
        {
            return kept
        }
        guard let authority = try authority(of: account) as? any TokenExchangeAuthority else {
            throw AccountError(.misconfigured, "this tool's service does not issue tokens for other APIs")
        }
        // Without a valid token there is no alternative to waiting.
        let isUsable = kept.map { !$0.credentials.expires(within: .zero, of: now) } == true
        let timeout: Duration? = isUsable ? .seconds(5) : nil
        let limit = timeout ?? authority.tokenRequestTimeout
        return try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
            try await store.derivedToken(
                for: target, minimumValidity: minimumValidity, timeout: timeout, with: authority)
        }
    }
}
