import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
        try refuseGivenToken()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let account = try await confirmedAccount(try await loadedAccount(of: authority), with: authority, timeout)
        let stored = account.credentials.derivedToken(for: target)
        let kept = stored?.credentials.accessToken == refused ? nil : stored
        if let kept, kept.credentials.isGood(for: minimumValidity, at: clock.now) { return kept }
        do throws(AccountError) {
            return try await derive(
                target, from: account, insteadOf: refused, minimumValidity, authority, until: deadline)
        } catch {
            // Do not return the stored token after a sign-out.
            guard let kept, !kept.credentials.expires(within: .zero, of: clock.now), error.code != .notSignedIn,
                error.code != .conflict, vault.shared.account?.credentials.isWithheld != true
            else { throw error }
            return kept
        }
    }

    private func derive(
        _ target: TokenTarget, from account: Account, insteadOf refused: Secret?, _ validity: Duration?,
        _ authority: any AccountAuthority, until deadline: ContinuousClock.Instant?
    ) async throws(AccountError) -> DerivedToken {
        let record = await vault.journal.readableRecord()
        if let pause = vault.pause(after: record) {
            throw AccountError(notRequested: pause)
        }
        let means = try await means(for: target, of: account, authority, until: deadline)
        var account = account
        switch means {
        case .refresh where account.credentials.refreshToken == nil:
            throw AccountError(
                .misconfigured,
                "this token requires a refresh token, and the service issued none", hint: "sign in again")
        case .refresh: break
        case .tokenExchange:
            let usable = try await usableAccount(
                minimumValidity: nil, timeout: deadline.map { ContinuousClock.now.duration(to: $0) }, with: authority)
            try usable.checkIsSameUser(as: account)
            account = usable
        }
        func refresh(_ account: Account, by means: TokenDerivation) async -> RefreshOutcome {
            await flows.refresh(
                account, deriving: Derivation(target: target, means: means, validity: validity, refused: refused),
                authority,
                failureCount: record?.failureCount ?? 0, until: deadline)
        }
        var outcome = await refresh(account, by: means)
        // A service may support token exchange, but not for this client.
        if case .kept(let account, let reason) = outcome, reason.code == .misconfigured, means == .tokenExchange,
            target.audience == nil, account.credentials.refreshToken != nil
        {
            outcome = await refresh(account, by: .refresh)
        }
        switch outcome {
        case .renewed(let new), .adopted(let new), .unsaved(let new, _):
            try new.checkIsSameUser(as: account)
            guard let token = new.credentials.derivedToken(for: target) else {
                throw AccountError(
                    .tooLarge,
                    "the token that the service issued for this is too long to be kept; you are still signed in")
            }
            return token
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error): throw error
        case .kept(_, let reason): throw AccountError(noDerivedToken: reason)
        }
    }

    private func means(
        for target: TokenTarget, of account: Account, _ authority: any AccountAuthority,
        until deadline: ContinuousClock.Instant?
    ) async throws(AccountError) -> TokenDerivation {
        let failure: AuthorityError
        do {
            let means = try await withDeadline(deadline) {
                try await authority.serviceAuthority.tokenDerivation(for: target, of: account)
            }
            if let means { return means }
            failure = .noResponse(.timeout)
        } catch {
            failure = AuthorityError(error)
        }
        throw AccountError(noDerivedToken: SessionDecision.reason(for: failure))
    }
}

extension AccountError {
    fileprivate init(noDerivedToken reason: UnverifiedReason) {
        guard reason.code == .misconfigured else {
            self.init(notRequested: reason)
            return
        }
        self.init(
            reason.errorCode,
            "the service does not issue this token (\(reason.detail ?? "misconfigured")); you are still signed in")
    }

    fileprivate init(notRequested reason: UnverifiedReason) {
        self.init(reason.errorCode, "this token could not be requested (\(reason)); you are still signed in")
        hint = reason.retryAfter.map { "try again in \($0.components.seconds) s" }
    }
}
