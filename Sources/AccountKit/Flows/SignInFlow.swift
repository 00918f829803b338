import AccountSupport
import Logging

/// A sign-in that replaces another sign-in queues the replaced tokens for revocation. After a code or password has been
/// sent, the exchange cannot be cancelled. If the caller is cancelled, AccountKit stores no account, and revokes the
/// new tokens.
extension Flows {
    func signIn(obtaining obtain: () async throws -> Account) async throws(AccountError) -> Account {
        try await signingIn { try await storeSignIn(try await obtain()) }
    }

    func signIn(
        with authority: any PasswordAuthority,
        asking ask: () async throws -> (username: String, password: Secret)
    ) async throws(AccountError) -> Account {
        try await signingIn(advice: "check the user name and password") {
            try await authority.serviceAuthority.preparePasswordSignIn()
            let (username, password) = try await ask()
            return try await exchanging(with: authority) { exchange in
                let account = try await shielded {
                    try await authority.signIn(username: username, password: password)
                }
                return try await self.storeOrRevoke(account, with: authority, exchange)
            }
        }
    }

    func signIn(asClientWith authority: any ServiceAuthority) async throws(AccountError) -> Account {
        try await signingIn(advice: "check the client ID and the client secret") {
            try await exchanging(with: authority) { exchange in
                let account = try await shielded { try await authority.signInAsClient() }
                return try await self.storeOrRevoke(account, with: authority, exchange)
            }
        }
    }

    func signIn(
        with authority: any TokenAuthority, asking ask: () async throws -> Secret
    ) async throws(AccountError) -> Account {
        try await signingIn {
            // The service issues no tokens, so a cancellation loses no tokens.
            let account = try await authority.signIn(token: try await ask()).withIssuer(of: authority)
            try account.checkBelongs(to: authority)
            let stored = try await storeSignIn(
                account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
            deliverDue(after: stored, at: authority)
            return stored
        }
    }

    func signIn(
        with authority: any DeviceAuthority, clock: any Clock<Duration>,
        showing show: (DeviceAuthorization) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await signingIn {
            let authorization = try await authority.beginDeviceSignIn()
            // The authority's state in the authorization protects the client's registration until the account is stored.
            defer { withExtendedLifetime(authorization) {} }
            try await show(authorization)
            return try await poll(authority, authorization, clock)
        }
    }

    func signIn(
        with authority: any BrowserAuthority, clock: any Clock<Duration>,
        opening open: (any BrowserSignIn) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await signingIn {
            let signIn = try await authority.beginBrowserSignIn()
            do {
                try await open(signIn)
                try await signIn.waitForResponse()
                return try await redeem(signIn, authority, clock)
            } catch {
                // Close the port even if the browser was not redirected. After the exchange, this call does nothing.
                await signIn.finish(with: .failure(error))
                throw error
            }
        }
    }

    /// Runs `body`, which signs in and stores the account, if an account can be stored.
    private func signingIn(
        advice: String = "start the sign-in again", _ body: () async throws -> Account
    ) async throws(AccountError) -> Account {
        // Without threads, the tasks of a sign-in would wait forever.
        guard ThreadSupply.isSufficient else { throw AccountError(signIn: .noThread, advice: advice) }
        try await prepareSignIn()
        do {
            return try await deliveries.whileSigningIn(body)
        } catch let error as AccountError {
            throw error
        } catch let error as Unstored {
            throw error.cause as? AccountError ?? AccountError(signIn: AuthorityError(error.cause), advice: advice)
        } catch {
            throw AccountError(signIn: AuthorityError(error), advice: advice)
        }
    }

    /// Makes sure that the account of a sign-in can be saved, before a code or token is spent.
    func prepareSignIn() async throws(AccountError) {
        // Ask for a passphrase before acquiring the lock, so that other processes do not wait for the user.
        switch await vault.stored() {
        case .present: break
        case .unreadable(let unreadable) where !mayReplace(unreadable): throw unreadable
        case .unreadable(let unreadable):
            let hasOtherKinds = try await AccountError.wrappingErrors { try await vault.hasOtherKindsOfKeys() }
            guard !hasOtherKinds else { throw unreadable }
            do throws(AccountError) {
                try await vault.ring.prepare()
            } catch  where unreadable.code == .noKey && [.noKey, .misconfigured, .invalidArgument].contains(error.code)
            {
                // The key that is missing here would open the archive.
                throw unreadable
            }
        case .absent: try await vault.ring.prepare()
        }
        try await vault.change { draft in
            // An archive that cannot be reached now cannot be replaced later either.
            if case .unreadable(let error) = await draft.stored(), !mayReplace(error) { throw error }
            try await draft.prepareSave()
        }
    }

    private func poll<C: Clock<Duration>>(
        _ authority: any DeviceAuthority, _ authorization: DeviceAuthorization, _ clock: C
    ) async throws -> Account {
        let end = clock.now.advanced(by: authorization.lifetime)
        var polling = DevicePolling(authorization)
        var pause = try polling.firstPause()
        while true {
            try await clock.sleep(for: pause)
            do {
                return try await exchanging(with: authority) { exchange in
                    let credentials: Credentials
                    do {
                        credentials = try await shielded { try await authority.pollDeviceSignIn(authorization) }
                    } catch {
                        throw NotIssued(failure: AuthorityError(error))
                    }
                    // The code is spent. From now on, retry only the request for the user.
                    return try await self.identifyAndStore(
                        credentials, with: authority, exchange, clock,
                        until: max(end, clock.now.advanced(by: .seconds(60)))
                    ) {
                        try await authority.account(with: credentials)
                    }
                }
            } catch let error as NotIssued {
                pause = try polling.pause(
                    after: error.failure, elapsed: authorization.lifetime - clock.now.duration(to: end))
            }
        }
    }

    private struct NotIssued: Error {
        var failure: AuthorityError
    }

    private func redeem<C: Clock<Duration>>(
        _ signIn: any BrowserSignIn, _ authority: any BrowserAuthority, _ clock: C
    ) async throws -> Account {
        try await exchanging(with: authority) { exchange in
            do {
                let credentials = try await shielded { try await signIn.credentials() }
                let end = clock.now.advanced(by: .seconds(60))
                let account = try await self.identifyAndStore(
                    credentials, with: authority, exchange, clock, until: end
                ) {
                    try await signIn.account(with: credentials)
                }
                await signIn.finish(with: .success(account))
                return account
            } catch {
                await signIn.finish(with: .failure(error))
                throw error
            }
        }
    }

    // MARK: Issued tokens

    /// Runs the part of a sign-in that cannot be cancelled: from sending a code or password to storing or revoking the
    /// tokens.
    private func exchanging<Value: Sendable>(
        with authority: any AccountAuthority, _ body: @escaping @Sendable (any Storing) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await exchanges.run(limit: authority.tokenRequestTimeout, body)
    }

    private func identifyAndStore<C: Clock<Duration>>(
        _ credentials: Credentials, with authority: any AccountAuthority, _ exchange: any Storing, _ clock: C,
        until end: C.Instant, identify: @escaping @Sendable () async throws -> Account
    ) async throws -> Account {
        var pause = Duration.seconds(1)
        while true {
            do {
                // Identify the user even if the caller was cancelled: whether the tokens may be revoked depends on the
                // user.
                let account = try await shielded(identify)
                return try await storeOrRevoke(account, with: authority, exchange)
            } catch let error as Unstored {
                throw error.cause
            } catch {
                let failure = AuthorityError(error)
                guard failure.isWorthAskingAgain, clock.now.advanced(by: pause) < end, !exchanges.isInterrupted,
                    !Task.isCancelled
                else {
                    let outcome = await revokeUnstored(
                        Account(id: "", issuer: authority.issuer, credentials: credentials), with: authority)
                    if error is CancellationError || exchanges.isInterrupted { throw CancellationError() }
                    throw AccountError(unused: credentials, because: failure, outcome)
                }
                // The next iteration detects a cancellation.
                try? await clock.sleep(for: pause)
                pause = min(pause * 2, .seconds(15))
            }
        }
    }

    private struct Unstored: Error {
        var cause: any Error
    }

    private func storeOrRevoke(
        _ account: Account, with authority: any AccountAuthority, _ exchange: any Storing
    ) async throws -> Account {
        let account = account.withIssuer(of: authority)
        do {
            try account.checkBelongs(to: authority)
            try checkInterruption()
            try exchange.beginStoring()
            let stored = try await storeSignIn(
                account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
            deliverDue(after: stored, at: authority)
            return stored
        } catch {
            exchange.giveUpStoring()
            _ = await revokeUnstored(account, with: authority)
            throw Unstored(cause: error)
        }
    }

    private func checkInterruption() throws {
        try Task.checkCancellation()
        if exchanges.isInterrupted { throw CancellationError() }
    }

    private func revokeUnstored(
        _ account: Account, with authority: any AccountAuthority
    ) async -> RevocationOutcome {
        await shielded { [self] in
            let pending = try? await vault.change { draft in
                // Load the account, since its keys encrypt the entry.
                _ = await draft.read()
                return try await draft.revocations.add(account)
            }
            return await revoke(account, pending, at: authority).outcome.ifQueued(pending != nil)
        }
    }

    /// Stores the account of a sign-in. The ``replacementHandler`` decides whether the sign-in replaces the account of
    /// another user.
    func storeSignIn(
        _ account: Account, supportsPerGrantRevocation: Bool = false
    ) async throws(AccountError) -> Account {
        let handler = replacementHandler
        var account = account
        var replaceable: Account?
        while true {
            let outcome = try await storeSignIn(account, supportsPerGrantRevocation: supportsPerGrantRevocation) {
                [account, replaceable] old in
                handler == nil || account.isSameUser(as: old) || replaceable?.isSameUser(as: old) == true
            }
            switch outcome {
            case .stored(let stored): return stored
            case .occupied(let old):
                // Call the handler without the lock: otherwise other processes would wait for the user.
                switch try await handler?(old, account) {
                case .store(let other)?:
                    return try await Flows(other).storeSignIn(
                        account, supportsPerGrantRevocation: supportsPerGrantRevocation)
                case .keepID?:
                    account = Account(
                        id: old.id, issuer: account.issuer, username: account.username ?? old.username,
                        credentials: account.credentials, profile: account.profile, verifiedAt: account.verifiedAt)
                    replaceable = old
                case .replace?, nil: replaceable = old
                }
            }
        }
    }

    private enum StoredSignIn: Sendable {
        case stored(Account)
        case occupied(by: Account)
    }

    private func storeSignIn(
        _ account: Account, supportsPerGrantRevocation: Bool, ifItMayReplace mayReplace: (Account) -> Bool
    ) async throws(AccountError) -> StoredSignIn {
        try await vault.change { draft in
            var account = account
            let content = await draft.read()
            // Keep the app's own fields. The claims of this sign-in replace earlier claims.
            if let old = content.account, old.isSameUser(as: account) {
                account.profile = old.profile.merging(account.profile)
            } else if let kept = await draft.keptProfiles.profile(of: account) {
                account.profile = kept.merging(account.profile)
            }
            switch content {
            case .absent:
                return .stored(try await draft.saveSignIn(account, ifRevision: nil))
            case .present(let old, let revision):
                guard mayReplace(old) else { return .occupied(by: old) }
                let isReplaced = !account.sharesTokens(with: old)
                let endsBoth = account.isEnded(byRevoking: old, supportsPerGrantRevocation: supportsPerGrantRevocation)
                if isReplaced { await queueReplaced(old, waitsForSignOut: endsBoth, draft) }
                do {
                    let saved = try await draft.saveSignIn(account, ifRevision: revision)
                    if !saved.isSameUser(as: old) { await draft.keepProfile(of: old) }
                    return .stored(saved)
                } catch {
                    // The old account stays signed in. A failure to withdraw the revocation is harmless: before
                    // AccountKit delivers queued revocations, it compares their tokens with the stored account.
                    if isReplaced { try? await draft.revocations.withdraw(old) }
                    throw error
                }
            // An archive that cannot be reached cannot be moved either.
            case .unreadable(let error):
                guard self.mayReplace(error) else { throw error }
                let (saved, place) = try await draft.saveSignInInPlaceOfUnreadable(account)
                vault.shared.quarantinedArchive = place
                return .stored(saved)
            }
        }
    }

    private func queueReplaced(
        _ old: Account, waitsForSignOut: Bool, _ draft: VaultDraft
    ) async {
        await vault.attempt(orLog: "the tokens of the replaced sign-in could not be queued for revocation") {
            try await draft.revocations.add(old, waitsForSignOut: waitsForSignOut)
            if !waitsForSignOut { await draft.revocations.release(beside: old) }
        }
    }
}

extension Account {
    /// Returns this account of a service, with the issuer of the service if the account names none.
    func withIssuer(of authority: any AccountAuthority) -> Account {
        var account = self
        account.issuer = issuer ?? authority.issuer
        return account
    }

    /// Throws an error if the authority, which returned this account, would later refuse to use it.
    fileprivate func checkBelongs(to authority: any AccountAuthority) throws(AccountError) {
        guard !authority.isAuthority(of: self) else { return }
        throw AccountError(
            .misconfigured,
            "the sign-in returned an account with the issuer \(issuer ?? "nil"), which does not belong to its service",
            hint: "the property issuer, or isAuthority(of:), must accept the account")
    }
}

extension AuthorityError {
    fileprivate var isWorthAskingAgain: Bool {
        guard case .keep(let reason) = SessionDecision.afterVerification(self, .init(holdsRefreshToken: false)) else {
            return false
        }
        return [.offline, .serverError, .rateLimited, .captivePortal].contains(reason.code)
    }
}
