#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Access tokens for other APIs, from the one sign-in.
extension AccountStore {
    /// An access token for another API, or for less than the sign-in is for, that is good for a while; derived first if need be.
    ///
    /// It is had by a refresh with `resource` (RFC 8707, section 2.2) or a narrower `scope` (RFC 6749, section 6), or by token
    /// exchange (RFC 8693), as the service has it, and kept beside the account's own tokens, sealed. All processes take turns with
    /// refreshes: the refresh token is never sent by two at a time, and a new one that comes is stored before anyone gets the
    /// derived token. The account's own access token stays what it is. Signing out removes derived tokens and has them revoked.
    ///
    /// ```swift
    /// let target = try TokenTarget(resources: ["https://api.example.com/"], scopes: ["read"])
    /// let token = try await store.accessToken(for: target, with: authority)
    /// ```
    ///
    /// - Parameters:
    ///   - target: What the token is to be for.
    ///   - minimumValidity: For how long the token should still be good; with `nil` 60 s, or half of its whole
    ///     lifetime if that is less. A token of unknown expiry always is.
    ///   - timeout: How long to wait; `nil` as long as it takes. What has been sent goes on afterwards, and what it brings is
    ///     stored; see ``finishPendingRequests()``.
    ///   - authority: The service.
    /// - Returns: The token. If none could be had now and the one that is kept has not expired yet, that one.
    /// - Throws: ``AccountError/Code-swift.struct/misconfigured`` if the service does not issue such tokens to this app, or
    ///   there is no refresh token and that would be needed: nobody is signed out for that.
    ///   ``AccountError/Code-swift.struct/serviceUnavailable`` if the service could not be reached, returned an error of its own,
    ///   or is to be left alone for a while. ``AccountError/Code-swift.struct/notSignedIn`` if nobody is signed in (any more).
    ///   ``AccountError/Code-swift.struct/tooLarge`` if the token has more than 16 KiB, or the account has no room for it.
    public func accessToken(
        for target: TokenTarget, minimumValidity: Duration? = nil, timeout: Duration? = .seconds(10),
        with authority: any TokenExchangeAuthority
    ) async throws(AccountError) -> Secret {
        try await derivedToken(for: target, minimumValidity: minimumValidity, timeout: timeout, with: authority)
            .credentials.accessToken
    }

    package func derivedToken(
        for target: TokenTarget, minimumValidity: Duration? = nil, timeout: Duration? = .seconds(10),
        with authority: any TokenExchangeAuthority
    ) async throws(AccountError) -> DerivedToken {
        try refuseGivenToken()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let account = try await confirmedAccount(try await loadedAccount(of: authority), with: authority, timeout)
        let kept = account.credentials.derivedToken(for: target)
        if let kept, kept.credentials.isGood(for: minimumValidity, at: clock.now) { return kept }
        do throws(AccountError) {
            return try await derive(target, from: account, minimumValidity, authority, until: deadline)
        } catch {
            // Who is signed out has no use for it.
            guard let kept, !kept.credentials.expires(within: .zero, of: clock.now), error.code != .notSignedIn,
                error.code != .conflict, driver.shared.account?.credentials.isWithheld != true
            else { throw error }
            return kept
        }
    }

    private func derive(
        _ target: TokenTarget, from account: Account, _ validity: Duration?, _ authority: any TokenExchangeAuthority,
        until deadline: ContinuousClock.Instant?
    ) async throws(AccountError) -> DerivedToken {
        let record = await driver.archive.journal.readableRecord()
        if let wait = record?.wait(at: clock.now) {
            throw AccountError(
                .serviceUnavailable,
                "there is no token for this now, since the service failed a moment ago: try again in \(Int(wait) + 1) s; you are "
                    + "still signed in")
        }
        let means = try await means(for: target, of: account, authority, until: deadline)
        var account = account
        switch means {
        case .refresh where account.credentials.refreshToken == nil:
            if let move = account.move { throw AccountError(move) }
            throw AccountError(
                .misconfigured,
                "a token for this is had by a refresh, and the service gave no refresh token: sign in again")
        case .refresh: break
        // What is exchanged must be good itself.
        case .tokenExchange:
            let usable = try await usableAccount(
                minimumValidity: nil, timeout: deadline.map { ContinuousClock.now.duration(to: $0) }, with: authority)
            try usable.checkIsSameUser(as: account)
            account = usable
        }
        let derivation = Derivation(target: target, means: means, validity: validity)
        var outcome = await driver.refresh(
            account, deriving: derivation, authority, failureCount: record?.failureCount ?? 0, until: deadline)
        // A service may offer token exchange, but not to this client.
        if case .kept(let account, let reason) = outcome, reason.code == .misconfigured, means == .tokenExchange,
            target.audience == nil, account.credentials.refreshToken != nil
        {
            let derivation = Derivation(target: target, means: .refresh, validity: validity)
            outcome = await driver.refresh(
                account, deriving: derivation, authority, failureCount: record?.failureCount ?? 0, until: deadline)
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
        for target: TokenTarget, of account: Account, _ authority: any TokenExchangeAuthority,
        until deadline: ContinuousClock.Instant?
    ) async throws(AccountError) -> TokenDerivation {
        let failure: AuthorityError
        do {
            let means = try await withDeadline(deadline) {
                try await authority.tokenDerivation(for: target, of: account)
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
        let message =
            reason.code == .misconfigured
            ? "the service does not issue this token (\(reason.detail ?? "misconfigured"))"
            : "the service could not be asked for this token (\(reason))"
        self.init(reason.errorCode, message + "; you are still signed in")
    }
}
