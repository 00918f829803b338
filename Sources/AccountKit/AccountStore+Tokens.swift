package import AccountSupport

extension AccountStore {
    /// Returns a valid access token. If necessary, the function refreshes the token first.
    ///
    /// - Parameters:
    ///   - minimumValidity: How long the token must still be valid; `nil` means 60 s, or half of the token's lifetime
    ///     if that is less. A token of unknown expiry is always valid.
    ///   - timeout: How long to wait for a refresh; `nil` for no limit. A refresh that has been sent continues after
    ///     the timeout, and its tokens are stored; see ``finishPendingRequests()``.
    ///   - authority: The service.
    /// - Returns: The token. If a refresh fails, the function returns the stored token until that token expires. After
    ///   a failed refresh, all processes pause before the next refresh: for 2 s at first, and for up to 5 min after
    ///   repeated failures. While the service is unreachable, the pause is at most 5 s. During the pause, errors have the
    ///   code and the message of the failure, and the time of the next attempt.
    /// - Throws: ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in, or if the token has expired and
    ///   there is no refresh token (the account is kept, since the clock may be wrong),
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the token has expired and the refresh failed,
    ///   ``AccountError/Code-swift.struct/renewalRefused`` if the token has expired and the service refuses to renew the
    ///   session (the account is kept, since no response ended the session),
    ///   ``AccountError/Code-swift.struct/misconfigured`` if the account belongs to another service, or
    ///   ``AccountError/Code-swift.struct/conflict`` if another user signs in during the refresh.
    public func accessToken(
        minimumValidity: Duration? = nil, timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        try await flows.accessToken(minimumValidity: minimumValidity, timeout: timeout, with: authority)
    }

    /// Returns the tokens for requests to an API of a service.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - minimumValidity: How long a token must still be valid; see ``accessToken(minimumValidity:timeout:with:)``.
    ///   - asksService: Whether to ask the service about the session if an API rejects a token that cannot be refreshed.
    ///   - check: Throws an error if the token of an account must not be sent. Another sign-in may replace the account at
    ///     any time, so this checks the account of each token.
    package func requestTokens(
        with authority: any AccountAuthority, minimumValidity: Duration? = nil, asksService: Bool = true,
        checking check: @escaping @Sendable (Account) throws(AccountError) -> Void = { _ in }
    ) -> RequestTokens {
        @Sendable func decision(_ refusal: AuthorityError, of account: Account) -> SessionDecision.Call {
            SessionDecision.afterCall(refusal, .init(holdsRefreshToken: account.credentials.isRenewable))
        }
        return RequestTokens(session: session) { () async throws(AccountError) in
            let account = try await self.usableAccount(minimumValidity: minimumValidity, with: authority)
            try check(account)
            return account
        } replacement: { (account, refusal) async throws(AccountError) in
            let action = decision(refusal, of: account)
            if action == .keep { return nil }
            if let renewed = try await self.account(insteadOf: account, with: authority) {
                try check(renewed)
                return renewed
            }
            if asksService, action == .askService,
                case .signedOut(let signOut) = await self.checkSession(with: authority)
            {
                throw self.flows.notSignedIn(signOut)
            }
            return nil
        } note: { refusal, replacement in
            if let refusal, decision(refusal, of: replacement) == .refreshOnce {
                self.noteRefusedReplacement(replacement)
            }
        }
    }

    /// Returns the account. If necessary, the function refreshes the tokens first. A call that began for one user does
    /// not return the account of another user.
    package func usableAccount(
        minimumValidity: Duration?, timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> Account {
        try await flows.usableAccount(minimumValidity: minimumValidity, timeout: timeout, with: authority)
    }

    /// Returns the account with another access token than the token that an API refused (401 of any form). If the token
    /// has been refreshed since it was sent, this is the stored token; otherwise the function refreshes once. Returns
    /// `nil` if the session cannot be renewed, or if an API refused this token less than a minute ago although it was
    /// a replacement; see ``noteRefusedReplacement(_:)``. Throws `conflict` if another user has signed in.
    package func account(
        insteadOf refused: Account, timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> Account? {
        try await flows.account(insteadOf: refused, timeout: timeout, with: authority)
    }

    /// Records that an API also refused the token that ``account(insteadOf:timeout:with:)`` returned.
    package func noteRefusedReplacement(_ account: Account) { flows.ownFailures.addReplacement(account.credentials) }

    /// Returns an account whose tokens are not withheld. If they are withheld, asks the service again: for the user of the
    /// tokens, or for another token. Throws an error if the tokens are still withheld after that.
    package func confirmedAccount(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?
    ) async throws(AccountError) -> Account {
        try await flows.confirmedAccount(account, with: authority, timeout)
    }

    /// Refreshes the tokens, even if they have not expired.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - timeout: How long to wait; `nil` for no limit. See ``accessToken(minimumValidity:timeout:with:)``.
    /// - Throws: The errors of ``accessToken(minimumValidity:timeout:with:)``, and
    ///   ``AccountError/Code-swift.struct/misconfigured`` if the session cannot be renewed.
    @discardableResult
    public func refresh(
        with authority: any AccountAuthority, timeout: Duration? = nil
    ) async throws(AccountError) -> Account {
        try await flows.refreshedAccount(with: authority, timeout: timeout)
    }

    package func refreshPause() async -> Duration? {
        await vault.readableRefreshRecord()?.wait(at: clock.now).map { .seconds($0) }
    }

    /// Returns why the last refresh failed, with the time to wait until the next one; `nil` if no pause lasts.
    package func pauseReason() async -> UnverifiedReason? {
        vault.pause(after: await vault.readableRefreshRecord())
    }

    /// Returns the date when the service began to refuse each refresh, possibly because it no longer recognizes the refresh
    /// token. Returns `nil` until two such responses are at least a minute apart.
    package func refusesRefreshSince() async -> Date? {
        guard let record = await vault.readableRefreshRecord(), record.isRefused else { return nil }
        return record.refusedSince
    }

    /// Returns the reason if the service refused the last refresh and the access token has expired, so that only another
    /// sign-in brings a token; otherwise `nil`. Sends no request.
    package func renewalRefusal(of account: Account) async -> UnverifiedReason? {
        guard account.credentials.isRenewable, account.credentials.needsToken(at: clock.now),
            let record = await vault.readableRefreshRecord(), record.refusedSince != nil
        else { return nil }
        let reason = SessionDecision.withoutToken(record.failure(isShared: vault.isShared))
        return reason.code == .renewalRefused ? reason : nil
    }
}

extension AccountStore {
    /// Returns an access token for another API, or with fewer scopes than the session has.
    ///
    /// AccountKit stores derived tokens with the account, encrypted, and returns a stored token while it is valid.
    /// Otherwise AccountKit requests a token: by a refresh with `resource` (RFC 8707, section 2.2) or a narrower
    /// `scope` (RFC 6749, section 6), or by token exchange (RFC 8693). As in every refresh, only one process at a time
    /// sends the refresh token. If the service returns a new refresh token, AccountKit stores it before this function
    /// returns the derived token. The account's own access token does not change. Signing out removes and revokes
    /// derived tokens.
    ///
    /// ```swift
    /// let target = try TokenTarget(resources: ["https://api.example.com/"], scopes: ["read"])
    /// let token = try await store.accessToken(for: target, with: authority)
    /// ```
    ///
    /// - Parameters:
    ///   - target: The API or scopes of the token.
    ///   - minimumValidity: How long the token must still be valid; `nil` means 60 s, or half of the token's lifetime
    ///     if that is less. A token of unknown expiry is always valid.
    ///   - timeout: How long to wait; `nil` for no limit. A request that has been sent continues after the timeout, and
    ///     its tokens are stored; see ``finishPendingRequests()``.
    ///   - authority: The service.
    /// - Returns: The token. If the service cannot issue a token now, the function returns the stored token until that
    ///   token expires.
    /// - Throws: ``AccountError/Code-swift.struct/misconfigured`` if the service does not issue such tokens to this
    ///   app, or if the grant needs a refresh token and the account has none. The user stays signed in.
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the service is unreachable or failed, or during the
    ///   pause after a failure. ``AccountError/Code-swift.struct/notSignedIn`` if no user is signed in.
    ///   ``AccountError/Code-swift.struct/tooLarge`` if the token has more than 16 KiB, or the account has no room for
    ///   it.
    public func accessToken(
        for target: TokenTarget, minimumValidity: Duration? = nil, timeout: Duration? = .seconds(10),
        with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        try await derivedToken(for: target, minimumValidity: minimumValidity, timeout: timeout, with: authority)
            .credentials.accessToken
    }

    /// Returns another access token for an API that refused the stored one (401 of any form).
    ///
    /// If the stored token is no longer the refused one, AccountKit returns the stored token. Otherwise AccountKit
    /// requests another token once. Send the request to the API again with that token, and only once: if the API refuses
    /// it too, a third token would not help.
    ///
    /// - Parameters:
    ///   - target: The API or scopes of the token.
    ///   - refused: The token that the API refused.
    ///   - timeout: How long to wait; `nil` for no limit.
    ///   - authority: The service.
    /// - Throws: The errors of ``accessToken(for:minimumValidity:timeout:with:)``. The refused token is never returned.
    public func accessToken(
        for target: TokenTarget, insteadOf refused: Secret, timeout: Duration? = .seconds(10),
        with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        try await derivedToken(for: target, insteadOf: refused, timeout: timeout, with: authority).credentials
            .accessToken
    }

    package func derivedToken(
        for target: TokenTarget, insteadOf refused: Secret? = nil, minimumValidity: Duration? = nil,
        timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> DerivedToken {
        try await flows.derivedToken(
            for: target, insteadOf: refused, minimumValidity: minimumValidity, timeout: timeout, with: authority)
    }
}
