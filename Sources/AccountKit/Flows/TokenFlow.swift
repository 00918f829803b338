import AccountSupport

extension Flows {
    func accessToken(
        minimumValidity: Duration?, timeout: Duration?, with authority: any AccountAuthority
    ) async throws(AccountError) -> Secret {
        let account = try await usableAccount(minimumValidity: minimumValidity, timeout: timeout, with: authority)
        let credentials = account.credentials
        if !credentials.isRenewable, let end = credentials.expiresAt, end <= vault.clock.now {
            throw AccountError(
                .notSignedIn,
                "the session at \(account.issuer ?? "the service") ended on \(LocalTime.text(of: end)), and there is no "
                    + "refresh token: sign in again")
        }
        return credentials.accessToken
    }

    func usableAccount(
        minimumValidity: Duration?, timeout: Duration?, with authority: any AccountAuthority
    ) async throws(AccountError) -> Account {
        let account = try await confirmedAccount(try await loadedAccount(of: authority), with: authority, timeout)
        let (credentials, now) = (account.credentials, vault.clock.now)
        guard !credentials.isGood(for: minimumValidity, at: now), credentials.isRenewable else {
            return account
        }
        let isUsable = !credentials.isExpired(at: now)
        return try await renewed(account, with: authority, timeout, isUsable: isUsable)
    }

    func account(
        insteadOf refused: Account, timeout: Duration?, with authority: any AccountAuthority
    ) async throws(AccountError) -> Account? {
        var account = try await loadedAccount(of: authority)
        if !account.credentials.isRefreshed(since: refused.credentials) {
            guard account.credentials.isRenewable,
                !ownFailures.hasReplacement(account.credentials, at: vault.clock.now)
            else {
                return nil
            }
            account = try await renewed(account, with: authority, timeout, isUsable: false)
        }
        account = try await confirmedAccount(account, with: authority, timeout)
        try account.checkIsSameUser(as: refused)
        return account
    }

    func refreshedAccount(
        with authority: any AccountAuthority, timeout: Duration?
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
            isWithoutToken: account.credentials.needsToken(at: vault.clock.now))
    }

    /// Refreshes the account. During the pause after a failure, returns the old account if `isUsable` is `true`;
    /// otherwise throws an error.
    private func renewed(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?, isUsable: Bool
    ) async throws(AccountError) -> Account {
        let record = await vault.readableRefreshRecord()
        var pause = account.credentials.machine != nil ? ownFailures.pause(at: vault.clock.now) : nil
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

    func confirmedAccount(
        _ account: Account, with authority: any AccountAuthority, _ timeout: Duration?
    ) async throws(AccountError) -> Account {
        guard account.credentials.isWithheld else { return account }
        // The check would refresh the tokens, but all processes pause after a failed refresh.
        if account.credentials.needsToken(at: vault.clock.now),
            let pause = vault.pause(after: await vault.readableRefreshRecord())
        {
            let code: UnverifiedReason.Code = account.credentials.isOfOtherUser ? .wrongAccount : .unclearReply
            throw AccountError(
                withholding: account.credentials,
                UnverifiedReason(code, detail: "the last refresh failed: \(pause)", retryAfter: pause.retryAfter))
        }
        switch await check(with: authority, timeout: timeout) {
        case .verified(let account): return account
        case .unverified(let account, let reason): throw AccountError(withholding: account.credentials, reason)
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
        let outcome = await refresh(
            account, authority, failureCount: failureCount, until: timeout.map { .now + $0 })
        switch outcome {
        case .renewed(let new), .adopted(let new), .unsaved(let new, _):
            try new.checkIsSameUser(as: account)
            if new.credentials.hasWrongType { throw AccountError(withholding: new.credentials) }
            ownFailures.reset()
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
                ownFailures.add(reason, at: vault.clock.now)
            }
            if isUsable { return new }
            throw AccountError(notRefreshed: isWithoutToken ? SessionDecision.withoutToken(reason) : reason)
        }
    }
}
