import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

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
        let account = try await usableAccount(minimumValidity: minimumValidity, timeout: timeout, with: authority)
        let credentials = account.credentials
        if !credentials.isRenewable, let end = credentials.expiresAt, end <= clock.now {
            throw AccountError(
                .notSignedIn,
                "the session at \(account.issuer ?? "the service") ended on \(LocalTime.text(of: end)), and there is no "
                    + "refresh token: sign in again")
        }
        return credentials.accessToken
    }

    /// Returns the account. If necessary, the function refreshes the tokens first. A call that began for one user does
    /// not return the account of another user.
    package func usableAccount(
        minimumValidity: Duration?, timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> Account {
        let account = try await confirmedAccount(try await loadedAccount(of: authority), with: authority, timeout)
        let (credentials, now) = (account.credentials, clock.now)
        guard !credentials.isGood(for: minimumValidity, at: now), credentials.isRenewable else {
            return account
        }
        let isUsable = !credentials.expires(within: .zero, of: now)
        return try await renewed(account, with: authority, timeout, isUsable: isUsable)
    }

    /// Returns the account with another access token than the token that an API refused (401 of any form). If the token
    /// has been refreshed since it was sent, this is the stored token; otherwise the function refreshes once. Returns
    /// `nil` if the session cannot be renewed, or if an API refused this token less than a minute ago although it was
    /// a replacement; see ``noteRefusedReplacement(_:)``. Throws `conflict` if another user has signed in.
    package func account(
        insteadOf refused: Account, timeout: Duration? = .seconds(10), with authority: any AccountAuthority
    ) async throws(AccountError) -> Account? {
        var account = try await loadedAccount(of: authority)
        if !account.credentials.isRefreshed(since: refused.credentials) {
            guard account.credentials.isRenewable,
                !flows.refusedReplacement.isRecent(account.credentials, at: clock.now)
            else {
                return nil
            }
            account = try await renewed(account, with: authority, timeout, isUsable: false)
        }
        account = try await confirmedAccount(account, with: authority, timeout)
        try account.checkIsSameUser(as: refused)
        return account
    }

    /// Records that an API also refused the token that ``account(insteadOf:timeout:with:)`` returned.
    package func noteRefusedReplacement(_ account: Account) { flows.refusedReplacement.note(account.credentials) }

    /// Refreshes the account. During the pause after a failure, returns the old account if `isUsable` is `true`;
    /// otherwise throws an error.
    private func renewed(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?, isUsable: Bool
    ) async throws(AccountError) -> Account {
        let record = await vault.journal.readableRecord()
        var pause = account.credentials.machine != nil ? flows.ownFailures.pause(at: clock.now) : nil
        if pause == nil { pause = vault.pause(after: record) }
        if let pause {
            if isUsable { return account }
            throw AccountError(notRefreshed: SessionDecision.withoutToken(pause))
        }
        let renewed = try await refreshedAccount(
            account, with: authority, timeout, isUsable: isUsable, isWithoutToken: !isUsable,
            failureCount: record?.failureCount ?? 0)
        // A user may have signed in at another service in another process.
        try check(renewed, isOf: authority)
        // Another process may have stored tokens that it withholds.
        return try await confirmedAccount(renewed, with: authority, timeout)
    }

    func loadedAccount(of authority: any AccountAuthority) async throws(AccountError) -> Account {
        let account = try await loadedAccount()
        try Self.checkRequestUser(is: account)
        try check(account, isOf: authority)
        return account
    }

    /// Returns an account whose tokens are not withheld. If they are withheld, asks the service again: for the user of the
    /// tokens, or for another token. Throws an error if the tokens are still withheld after that.
    package func confirmedAccount(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?
    ) async throws(AccountError) -> Account {
        guard account.credentials.isWithheld else { return account }
        // The check would refresh the tokens, but all processes pause after a failed refresh.
        if account.credentials.needsToken(at: clock.now), let pause = await pauseReason() {
            let code: UnverifiedReason.Code = account.credentials.isOfOtherUser ? .wrongAccount : .unclearReply
            throw AccountError(
                withholding: account.credentials,
                UnverifiedReason(code, detail: "the last refresh failed: \(pause)", retryAfter: pause.retryAfter))
        }
        switch await checkSession(with: authority, timeout: timeout) {
        case .verified(let account): return account
        case .unverified(let account, let reason): throw AccountError(withholding: account.credentials, reason)
        case .signedOut(let signOut): throw notSignedIn(signOut)
        case .unreadable(let error): throw error
        }
    }

    func check(_ account: Account, isOf authority: any AccountAuthority) throws(AccountError) {
        // The issuer of a token from the environment may be unknown.
        if givenToken != nil, account.issuer == nil { return }
        if let mismatch = authority.mismatch(with: account) { throw AccountError(.misconfigured, mismatch) }
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
        try refuseGivenToken()
        let account = try await loadedAccount(of: authority)
        guard account.credentials.isRenewable else {
            throw AccountError(
                .misconfigured, "the service issued no refresh token, so the session cannot be refreshed",
                hint: "sign in again")
        }
        return try await refreshedAccount(
            account, with: authority, timeout, isUsable: false,
            isWithoutToken: account.credentials.needsToken(at: clock.now))
    }

    package func refreshPause() async -> Duration? {
        await vault.journal.readableRecord()?.wait(at: clock.now).map { .seconds($0) }
    }

    /// Returns why the last refresh failed, with the time to wait until the next one; `nil` if no pause lasts.
    package func pauseReason() async -> UnverifiedReason? {
        vault.pause(after: await vault.journal.readableRecord())
    }

    /// Returns the date when the service began to refuse each refresh, possibly because it no longer recognizes the refresh
    /// token. Returns `nil` until two such responses are at least a minute apart.
    package func refusesRefreshSince() async -> Date? {
        guard let record = await vault.journal.readableRecord(), record.isRefused else { return nil }
        return record.refusedSince
    }

    /// Returns the reason if the service refused the last refresh and the access token has expired, so that only another
    /// sign-in brings a token; otherwise `nil`. Sends no request.
    package func renewalRefusal(of account: Account) async -> UnverifiedReason? {
        guard account.credentials.isRenewable, account.credentials.needsToken(at: clock.now),
            let record = await vault.journal.readableRecord(), record.refusedSince != nil
        else { return nil }
        let reason = SessionDecision.withoutToken(record.failure(isShared: vault.isShared))
        return reason.code == .renewalRefused ? reason : nil
    }

    package func notSignedIn(_ signOut: SignOut) -> AccountError {
        givenToken?.rejection(signOut) ?? AccountError(notSignedIn: signOut)
    }

    func loadedAccount() async throws(AccountError) -> Account {
        switch await load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw notSignedIn(signOut)
        case .unreadable(let error): throw error
        }
    }

    /// - Parameters:
    ///   - isUsable: Whether to return the old account if the refresh fails.
    ///   - isWithoutToken: Whether the access token has expired, or an API refused it.
    private func refreshedAccount(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?, isUsable: Bool,
        isWithoutToken: Bool, failureCount: Int? = nil
    ) async throws(AccountError) -> Account {
        let outcome = await flows.refresh(
            account, authority, failureCount: failureCount, until: timeout.map { .now + $0 })
        switch outcome {
        case .renewed(let new), .adopted(let new), .unsaved(let new, _):
            try new.checkIsSameUser(as: account)
            if new.credentials.hasWrongType { throw AccountError(withholding: new.credentials) }
            flows.ownFailures.reset()
            return new
        case .signedOut(let signOut): throw AccountError(notSignedIn: signOut)
        case .unreadable(let error):
            if isUsable { return account }
            throw error
        case .kept(let new, let reason):
            try new.checkIsSameUser(as: account)
            if reason.code == .wrongAccount || new.credentials.hasWrongType {
                throw AccountError(withholding: new.credentials, reason)
            }
            if new.credentials.machine != nil, reason.isRefusalOfClient {
                flows.ownFailures.add(reason, at: clock.now)
            }
            if isUsable { return new }
            throw AccountError(notRefreshed: isWithoutToken ? SessionDecision.withoutToken(reason) : reason)
        }
    }
}

extension AccountError {
    /// The tokens could not be refreshed, and the stored access token is no longer valid.
    package init(notRefreshed reason: UnverifiedReason) {
        guard reason.code != .renewalRefused else {
            self.init(
                .renewalRefused,
                "the service no longer renews this session\(reason.detail.map { " (\($0))" } ?? ""); you are still signed in, but there "
                    + "is no valid token", hint: "sign in again")
            return
        }
        self.init(reason.errorCode, "the tokens could not be refreshed (\(reason)); you are still signed in")
        hint = reason.retryAfter.map { "try again in \($0.components.seconds) s" }
        if reason.refusesRenewal { hint = Self.signInIfRefusedAgain }
    }

    /// The hint if the service refused a refresh, and the access token is still valid.
    package static let signInIfRefusedAgain = "if this continues, sign in again"

    /// The error of a request for tokens that are withheld. `reason` is why the service did not change that; `nil` if it was
    /// not asked.
    package init(withholding credentials: Credentials, _ reason: UnverifiedReason? = nil) {
        let own = credentials.withholdingReason
        let detail = reason?.detail.flatMap { $0 == own?.detail ? nil : " (\($0))" } ?? ""
        let code = (reason ?? own)?.errorCode ?? .serviceUnavailable
        guard credentials.hasWrongType, reason?.code != .wrongAccount else {
            self.init(
                code,
                "the service has reported that the stored token belongs to another user, so no program gets it until the service confirms the "
                    + "account\(detail): sign in again if this persists")
            return
        }
        self.init(
            code,
            "\(credentials.flawOfType(in: credentials)), so no program gets it until a refresh brings another token\(detail): "
                + "you are still signed in. Sign in again if this persists")
    }
}

extension Credentials {
    /// Why AccountKit returns the tokens to no program; `nil` if it returns them.
    package var withholdingReason: UnverifiedReason? {
        if isOfOtherUser { return .otherUser }
        guard hasWrongType else { return nil }
        return UnverifiedReason(wrongTypeOf: self, in: self)
    }

    /// Returns whether only a refresh can bring a usable access token.
    func needsToken(at date: Date) -> Bool { hasWrongType || expires(within: .zero, of: date) }
}

extension UnverifiedReason {
    fileprivate static let otherUser = UnverifiedReason(
        .wrongAccount, detail: "no program gets the token until the service confirms the account")

    /// Returns why no program gets the access token in the response to a refresh of a session; `nil` if programs get it.
    init?(flawOf response: Credentials, in session: Credentials) {
        if response.lacksAccessToken {
            self.init(
                .unclearReply,
                detail:
                    "the response contained a new refresh token, but no access token that can be read; the next use requests "
                    + "another one")
        } else if response.isOfOtherUser {
            self = .otherUser
        } else if session.hasWrongType(in: response) {
            self.init(wrongTypeOf: response, in: session)
        } else {
            return nil
        }
    }

    /// The service issued a token of the wrong type for a session.
    init(wrongTypeOf response: Credentials, in session: Credentials) {
        self.init(
            .unclearReply,
            detail: session.flawOfType(in: response)
                + "; no program gets the token, and the next use requests another one")
    }

    var errorCode: AccountError.Code {
        switch code {
        case .misconfigured: .misconfigured
        case .renewalRefused: .renewalRefused
        case .busy: .busy
        case .cannotSave: .inaccessible
        case .storeUnreachable: .storeUnreachable
        case .cancelled: .cancelled
        default: .serviceUnavailable
        }
    }
}
