import AccountKit

extension CommandContext {
    /// An account whose access token is good for a while, refreshed first if need be: what `token` prints and the helpers
    /// hand out.
    ///
    /// - Parameters:
    ///   - account: The account as it was read.
    ///   - minimumValidity: For how long the token should still be good; `nil` leaves that to the store.
    ///   - other: Where it was read, if not in the commands' own store.
    /// - Throws: An error that says why there is no token. Offline is `serviceUnavailable`, and nobody is signed out.
    func withUsableToken(
        _ account: Account, minimumValidity: Duration? = nil, in other: AccountStore? = nil
    ) async throws -> Account {
        let now = SystemWallClock().now
        guard !account.isOver(at: now) else {
            throw isOver(account)
        }
        // Its own service is the authority's. An app that knows its service makes sure that it is the account's, too.
        if App.acceptsIssuer, account.issuer != nil, !account.credentials.isWithheld,
            account.credentials.isGood(for: minimumValidity, at: now)
        {
            return account
        }
        let authority = try authority(of: account)
        // Without a valid token there is no alternative to waiting.
        let isExpired = account.credentials.expires(within: .zero, of: now)
        let timeout: Duration? = isExpired ? nil : .seconds(5)
        let limit = timeout ?? authority.exchangeTimeout
        return try await Waiting.shown(for: account.issuer ?? "the service", upTo: limit) {
            let usable = try await (other ?? store).usableAccount(
                minimumValidity: minimumValidity, timeout: timeout, with: authority)
            guard !usable.isOver(at: SystemWallClock().now) else {
                throw isOver(usable)
            }
            return usable
        }
    }

    private func isOver(_ account: Account) -> AccountError {
        if let move = account.move { return AccountError(.moved, StateText.text(move)) }
        return AccountError(.notSignedIn, StateText.end(of: account, tool: tool, session: session))
    }

    /// The account of the session, for a program that cannot be shown a state.
    ///
    /// - Throws: `notSignedIn` if there is none, with what to do; or why it cannot be read.
    func signedInAccount(in other: AccountStore? = nil) async throws -> Account {
        switch await (other ?? store).load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut):
            throw AccountError(.notSignedIn, StateText.explanation(of: signOut, tool: tool, session: session))
        case .unreadable(let error): throw error
        }
    }
}
