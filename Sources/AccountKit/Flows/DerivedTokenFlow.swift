import AccountSupport

extension Flows {
    func derivedToken(
        for target: TokenTarget, insteadOf refused: Secret?, minimumValidity: Duration?, timeout: Duration?,
        with authority: any AccountAuthority
    ) async throws(AccountError) -> DerivedToken {
        try refuseGivenToken()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let account = try await confirmedAccount(try await loadedAccount(of: authority), with: authority, timeout)
        let stored = account.credentials.derivedToken(for: target)
        let kept = stored?.credentials.accessToken == refused ? nil : stored
        if let kept, kept.credentials.isGood(for: minimumValidity, at: vault.clock.now) { return kept }
        do throws(AccountError) {
            return try await derive(
                target, from: account, insteadOf: refused, minimumValidity, authority, until: deadline)
        } catch {
            // Do not return the stored token after a sign-out.
            guard let kept, !kept.credentials.isExpired(at: vault.clock.now), error.code != .notSignedIn,
                error.code != .conflict, vault.shared.account?.credentials.isWithheld != true
            else { throw error }
            return kept
        }
    }

    private func derive(
        _ target: TokenTarget, from account: Account, insteadOf refused: Secret?, _ validity: Duration?,
        _ authority: any AccountAuthority, until deadline: ContinuousClock.Instant?
    ) async throws(AccountError) -> DerivedToken {
        let record = await vault.readableRefreshRecord()
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
        func request(_ account: Account, by means: TokenDerivation) async -> RefreshOutcome {
            await refresh(
                account, deriving: Derivation(target: target, means: means, validity: validity, refused: refused),
                authority,
                failureCount: record?.failureCount ?? 0, until: deadline)
        }
        var outcome = await request(account, by: means)
        // A service may support token exchange, but not for this client.
        if case .kept(let account, let reason) = outcome, reason.code == .misconfigured, means == .tokenExchange,
            target.audience == nil, account.credentials.refreshToken != nil
        {
            outcome = await request(account, by: .refresh)
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
