import Logging
import Synchronization

/// Signing in, in each of the ways that an authority may have.
///
/// A sign-in that replaces another puts the tokens of that one into the queue of revocations; see
/// ``deliverRevocations(with:ignoringPauses:isInteractive:)``. A code or password that has been sent is spent: from then on nothing cuts the
/// exchange off. If the caller is cancelled meanwhile nothing is stored, and what the exchange brings is revoked; see
/// ``finishPendingRequests()``.
extension AccountStore {
    /// Signs in: makes sure that the account can be stored, gets it from `obtain`, and puts it in place of the old one.
    ///
    /// Until the new account is stored, the old one stays what it was. An archive that does not open is moved aside, not
    /// overwritten. On storage that machines share the sign-in fails instead; see ``replacingUnreadableArchive()``.
    ///
    /// - Parameter obtain: Gets the account from the service; throws an ``AuthorityError`` if that fails.
    /// - Returns: The account as it was stored.
    /// - Throws: An ``AccountError``: ``AccountError/Code-swift.struct/signInRefused`` if the service refused, others if it
    ///   could not be reached or the account cannot be stored.
    @discardableResult
    public func signIn(
        obtaining obtain: () async throws -> Account
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        return try await signInErrors { try await storeSignIn(try await obtain()) }
    }

    /// Signs in with a user name and a password. See ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(
        username: String, password: Secret, with authority: any PasswordAuthority
    ) async throws(AccountError) -> Account {
        try await signIn(with: authority) { (username, password) }
    }

    /// Signs in with a user name and a password, which are asked for once it is clear that the account can be stored. See
    /// ``signIn(obtaining:)``.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - ask: Asks the user.
    @discardableResult
    public func signIn(
        with authority: any PasswordAuthority,
        asking ask: () async throws -> (username: String, password: Secret)
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        return try await signInErrors(advice: "check user name and password") {
            let (username, password) = try await ask()
            return try await exchanging(with: authority) { exchange in
                let account = try await shielded {
                    try await authority.signIn(username: username, password: password)
                }
                return try await self.storeOrRevoke(account, with: authority, exchange)
            }
        }
    }

    /// Signs in with a token that the user got elsewhere, which the service is asked about first. See
    /// ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(token: Secret, with authority: any TokenAuthority) async throws(AccountError) -> Account {
        try await signIn(with: authority) { token }
    }

    /// The same, with a token that is asked for once it is clear that the account can be stored.
    @discardableResult
    public func signIn(
        with authority: any TokenAuthority, asking ask: () async throws -> Secret
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        return try await signInErrors {
            // Nothing is issued, so nothing is lost if this is broken off.
            let account = try await authority.signIn(token: try await ask())
            return try await storeSignIn(account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
        }
    }

    /// Signs in on another device: shows a code, and asks until the user has entered it there. See
    /// ``signIn(obtaining:)``.
    ///
    /// Network errors and a service in trouble only make the polls rarer, as long as the code is good.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - clock: Measures how long the code is good, and waits between the polls.
    ///   - show: Shows the user what to do.
    @discardableResult
    public func signIn(
        with authority: any DeviceAuthority, clock: any Clock<Duration> = ContinuousClock(),
        showing show: (DeviceAuthorization) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        return try await signInErrors {
            let authorization = try await authority.beginDeviceSignIn()
            try await show(authorization)
            return try await poll(authority, authorization, clock)
        }
    }

    private func poll<C: Clock<Duration>>(
        _ authority: any DeviceAuthority, _ authorization: DeviceAuthorization, _ clock: C
    ) async throws -> Account {
        let end = clock.now.advanced(by: authorization.lifetime)
        var polling = DevicePolling(authorization)
        var step = polling.start()
        while true {
            switch step {
            case .poll(let pause):
                try await clock.sleep(for: pause)
                do {
                    return try await exchanging(with: authority) { exchange in
                        let credentials: Credentials
                        do {
                            credentials = try await shielded { try await authority.pollDeviceSignIn(authorization) }
                        } catch {
                            throw NotIssued(failure: AuthorityError(error))
                        }
                        // The code is spent: from now on it is asked whose the tokens are, and nothing else.
                        return try await self.identifyAndStore(
                            credentials, with: authority, exchange, clock,
                            until: max(end, clock.now.advanced(by: .seconds(60)))
                        ) {
                            try await authority.account(with: credentials)
                        }
                    }
                } catch let error as NotIssued {
                    step = polling.next(
                        after: error.failure, elapsed: authorization.lifetime - clock.now.duration(to: end))
                }
            case .fail(let failure): throw failure
            case .expired: throw AuthorityError.oauthError(.expiredToken)
            }
        }
    }

    private struct NotIssued: Error {
        var failure: AuthorityError
    }

    /// Signs in with a browser. See ``signIn(obtaining:)``.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - clock: Waits between two questions whose the tokens are.
    ///   - open: Opens the page, or shows its URL, and says how long the sign-in waits.
    @discardableResult
    public func signIn(
        with authority: any BrowserAuthority, clock: any Clock<Duration> = ContinuousClock(),
        opening open: (any BrowserSignIn) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        return try await signInErrors {
            let signIn = try await authority.beginBrowserSignIn()
            do {
                try await open(signIn)
                try await signIn.waitForResponse()
                return try await redeem(signIn, authority, clock)
            } catch {
                // Also if nobody came, so that the port is closed. After the exchange this is the second time, and does nothing.
                await signIn.finish(with: .failure(error))
                throw error
            }
        }
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

    // MARK: What has been issued

    /// Runs what must not be cut off: from the sending of a code or a password to the storing, or revoking, of what it brings.
    private func exchanging<Value: Sendable>(
        with authority: any AccountAuthority, _ body: @escaping @Sendable (any Storing) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await driver.exchanges.run(limit: authority.tokenRequestTimeout, body)
    }

    /// Asks whose tokens are, again and again until `end`, and stores the account; or has the tokens revoked.
    private func identifyAndStore<C: Clock<Duration>>(
        _ credentials: Credentials, with authority: any AccountAuthority, _ exchange: any Storing, _ clock: C,
        until end: C.Instant, identify: @escaping @Sendable () async throws -> Account
    ) async throws -> Account {
        var pause = Duration.seconds(1)
        while true {
            do {
                // Also if nobody wants them any more: whether they may be revoked depends on whose they are.
                let account = try await shielded(identify)
                return try await storeOrRevoke(account, with: authority, exchange)
            } catch let error as Unstored {
                throw error.cause
            } catch {
                let failure = AuthorityError(error)
                guard failure.isWorthAskingAgain, clock.now.advanced(by: pause) < end, !driver.exchanges.isInterrupted,
                    !Task.isCancelled
                else {
                    let outcome = await revokeUnstored(
                        Account(id: "", issuer: authority.accountIssuer, credentials: credentials), with: authority)
                    if error is CancellationError || driver.exchanges.isInterrupted { throw CancellationError() }
                    throw AccountError(unidentified: failure, outcome)
                }
                // Who is cancelled meanwhile finds out at the next turn.
                try? await clock.sleep(for: pause)
                pause = min(pause * 2, .seconds(15))
            }
        }
    }

    /// An account that was identified and not stored, and whose tokens were revoked for that.
    private struct Unstored: Error {
        var cause: any Error
    }

    private func storeOrRevoke(
        _ account: Account, with authority: any AccountAuthority, _ exchange: any Storing
    ) async throws -> Account {
        do {
            try checkInterruption()
            try exchange.beginStoring()
            return try await storeSignIn(account, supportsPerGrantRevocation: authority.supportsPerGrantRevocation)
        } catch {
            exchange.giveUpStoring()
            _ = await revokeUnstored(account, with: authority)
            throw Unstored(cause: error)
        }
    }

    private func checkInterruption() throws {
        try Task.checkCancellation()
        if driver.exchanges.isInterrupted { throw CancellationError() }
    }

    /// Has tokens revoked that nobody will hold: at once, or later if that cannot be done now.
    private func revokeUnstored(_ account: Account, with authority: any AccountAuthority) async -> RevocationOutcome {
        await shielded { [driver] in
            let pending = try? await driver.withTransaction { transaction in
                // It has the keys that the entry is sealed with.
                _ = await driver.load(transaction)
                return try await driver.revocations.add(account, at: driver.clock.now, in: transaction)
            }
            let outcome = await driver.revoke(account, pending, at: authority).outcome
            // What is in no queue will not be told later.
            return outcome == .queued && pending == nil ? .refused : outcome
        }
    }

    /// Stores a new sign-in. The handler of ``confirmReplacements(_:)`` decides whether it replaces another user's.
    ///
    /// - Parameter supportsPerGrantRevocation: Whether revoking tokens of a user leaves the user's other sign-ins alone.
    func storeSignIn(
        _ account: Account, supportsPerGrantRevocation: Bool = false
    ) async throws(AccountError) -> Account {
        let handler = replacementHandler.withLock(\.self)
        var replaceable: Account?
        while true {
            let outcome = try await storeSignIn(account, supportsPerGrantRevocation: supportsPerGrantRevocation) {
                old in
                handler == nil || account.isSameUser(as: old) || replaceable?.isSameUser(as: old) == true
            }
            switch outcome {
            case .stored(let stored): return stored
            case .occupied(let old):
                // Not under the lock, where other processes would wait for the user.
                switch try await handler?(old, account) {
                case .store(let other)?:
                    return try await other.storeSignIn(account, supportsPerGrantRevocation: supportsPerGrantRevocation)
                case .replace?, nil: replaceable = old
                }
            }
        }
    }

    private enum StoredSignIn: Sendable {
        case stored(Account)
        case occupied(by: Account)
    }

    /// Puts a new sign-in in place of the stored account, if there is none or `mayReplace` allows it.
    private func storeSignIn(
        _ account: Account, supportsPerGrantRevocation: Bool, ifItMayReplace mayReplace: (Account) -> Bool
    ) async throws(AccountError) -> StoredSignIn {
        try await driver.withTransaction { transaction in
            switch await driver.load(transaction) {
            case .absent: return .stored(try await driver.save(account, nil, isSignIn: true, transaction))
            case .present(let old, let revision):
                // A session that was moved goes on elsewhere.
                guard old.move != nil || mayReplace(old) else { return .occupied(by: old) }
                try await driver.discardLeftover(of: old, in: transaction)
                let isReplaced = old.move == nil && !account.sharesTokens(with: old)
                let endsBoth = account.isEnded(byRevoking: old, supportsPerGrantRevocation: supportsPerGrantRevocation)
                if isReplaced { await queueReplaced(old, waitsForSignOut: endsBoth, transaction) }
                do {
                    return .stored(try await driver.save(account, revision, isSignIn: true, transaction))
                } catch {
                    // Who is still signed in must not be signed out by the service later. What cannot be withdrawn now is
                    // looked at again before it is told.
                    if isReplaced { try? await driver.revocations.withdraw(old, in: transaction) }
                    throw error
                }
            // What cannot be reached cannot be moved either; what does not open is kept for whoever has its key.
            case .unreadable(let error):
                guard driver.mayReplace(error) else { throw error }
                let place = try await driver.archive.quarantine(at: clock.now, in: transaction)
                driver.logger?.notice("an archive that could not be read was moved", metadata: ["to": "\(place)"])
                do {
                    let saved = try await driver.save(account, nil, isSignIn: true, transaction)
                    driver.shared.quarantinedArchive = place
                    return .stored(saved)
                } catch {
                    // Otherwise an archive that cannot be read would have become none at all. If it cannot be restored, it is
                    // where it was moved to, and the error that is thrown is the one that kept the sign-in from being saved.
                    try? await transaction.restore(.account, from: place)
                    throw error
                }
            }
        }
    }

    /// A queue that cannot be written keeps nobody from signing in.
    private func queueReplaced(
        _ old: Account, waitsForSignOut: Bool, _ transaction: any ArchiveTransaction
    ) async {
        do {
            try await driver.revocations.add(old, waitsForSignOut: waitsForSignOut, at: clock.now, in: transaction)
            if !waitsForSignOut { await driver.revocations.release(beside: old, at: clock.now, in: transaction) }
        } catch {
            driver.logger?.warning(
                "the tokens of the replaced sign-in could not be queued for revocation",
                metadata: ["error": "\(error)"])
        }
    }

    private func signInErrors(
        advice: String = "start the sign-in again", _ body: () async throws -> Account
    ) async throws(AccountError) -> Account {
        do {
            return try await body()
        } catch let error as AccountError {
            throw error
        } catch let error as Unstored {
            throw error.cause as? AccountError ?? AccountError(signIn: AuthorityError(error.cause), advice: advice)
        } catch {
            throw AccountError(signIn: AuthorityError(error), advice: advice)
        }
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
