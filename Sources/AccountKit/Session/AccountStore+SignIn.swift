/// Signing in, in each of the ways that an authority may have.
extension AccountStore {
    /// Signs in: makes sure that the account can be stored, gets it from `obtain`, and puts it in place of the old one.
    ///
    /// Until the new account is stored, the old one stays what it was. An archive that does not open is moved aside, not
    /// overwritten.
    ///
    /// - Parameter obtain: Gets the account from the service; throws an ``AuthoritySignal`` if that fails.
    /// - Returns: The account as it was stored.
    /// - Throws: An ``AccountError``: ``AccountError/Code-swift.struct/signInRefused`` if the service refused, others if it
    ///   could not be reached or the account cannot be stored.
    @discardableResult
    public func signIn(
        obtaining obtain: () async throws -> Account
    ) async throws(AccountError) -> Account {
        try await driver.prepareSave()
        let account: Account
        do {
            account = try await obtain()
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(signIn: AuthoritySignal(error))
        }
        return try await driver.run(SignInProcedure(account)).get()
    }

    /// Signs in with a user name and a password. See ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(
        username: String, password: Secret, with authority: any PasswordAuthority
    ) async throws(AccountError) -> Account {
        try await signIn { try await authority.signIn(username: username, password: password) }
    }

    /// Signs in with a token that the user got elsewhere, which the service is asked about first. See
    /// ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(token: Secret, with authority: any TokenAuthority) async throws(AccountError) -> Account {
        try await signIn { try await authority.signIn(token: token) }
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
        try await signIn {
            let authorization = try await authority.beginDeviceSignIn()
            try await show(authorization)
            let credentials = try await Self.poll(authority, authorization, clock)
            return try await authority.account(with: credentials)
        }
    }

    private static func poll<C: Clock<Duration>>(
        _ authority: any DeviceAuthority, _ authorization: DeviceAuthorization, _ clock: C
    ) async throws -> Credentials {
        let start = clock.now
        var polling = DevicePolling(authorization)
        var step = polling.start()
        while true {
            switch step {
            case .poll(let pause):
                try await clock.sleep(for: pause)
                do {
                    return try await authority.pollDeviceSignIn(authorization)
                } catch {
                    try Task.checkCancellation()
                    step = polling.next(after: AuthoritySignal(error), elapsed: start.duration(to: clock.now))
                }
            case .fail(let signal): throw signal
            case .expired: throw AuthoritySignal.oauthError(.expiredToken)
            }
        }
    }

    /// Signs in with a browser. See ``signIn(obtaining:)``.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - open: Opens the page, or shows its address, and says how long it is waited for.
    @discardableResult
    public func signIn(
        with authority: any BrowserAuthority, opening open: (any BrowserSignIn) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await signIn {
            let signIn = try await authority.beginBrowserSignIn()
            let result: Result<Account, any Error>
            do {
                try await open(signIn)
                try await signIn.waitForResponse()
                result = .success(try await signIn.account(with: signIn.credentials()))
            } catch {
                result = .failure(error)
            }
            await signIn.finish(with: result)
            return try result.get()
        }
    }
}
