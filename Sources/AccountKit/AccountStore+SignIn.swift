extension AccountStore {
    /// Signs in with an account that the app obtains from the service.
    ///
    /// The function first checks that it can store an account, then calls `obtain`, and finally replaces the stored
    /// account. Until that step the old account stays unchanged. If the archive cannot be opened, the function moves it
    /// aside instead of overwriting it. If several machines share the storage, the sign-in fails instead.
    ///
    /// - Parameter obtain: A function that obtains the account from the service. The function throws an
    ///   ``AuthorityError`` if it fails.
    /// - Returns: The stored account.
    /// - Throws: An ``AccountError``: ``AccountError/Code-swift.struct/signInRefused`` if the service refused the
    ///   sign-in; other codes if the service is unreachable or the account cannot be stored.
    @discardableResult
    public func signIn(
        obtaining obtain: () async throws -> Account
    ) async throws(AccountError) -> Account {
        try await flows.signIn(obtaining: obtain)
    }

    /// Signs in with a user name and a password. See ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(
        username: String, password: Secret, with authority: any PasswordAuthority
    ) async throws(AccountError) -> Account {
        try await signIn(with: authority) { (username, password) }
    }

    /// Signs in with a user name and a password. AccountKit calls `ask` after it has checked that it can store the account.
    @discardableResult
    package func signIn(
        with authority: any PasswordAuthority,
        asking ask: () async throws -> (username: String, password: Secret)
    ) async throws(AccountError) -> Account {
        try await flows.signIn(with: authority, asking: ask)
    }

    /// Signs in as a client, without a user. See ``signIn(obtaining:)``.
    @discardableResult
    package func signIn(asClientWith authority: any ServiceAuthority) async throws(AccountError) -> Account {
        try await flows.signIn(asClientWith: authority)
    }

    /// Signs in with an access token that the user provides, after the service has confirmed the token. See
    /// ``signIn(obtaining:)``.
    @discardableResult
    public func signIn(token: Secret, with authority: any TokenAuthority) async throws(AccountError) -> Account {
        try await signIn(with: authority) { token }
    }

    /// Signs in with an access token. AccountKit calls `ask` after it has checked that it can store the account.
    @discardableResult
    package func signIn(
        with authority: any TokenAuthority, asking ask: () async throws -> Secret
    ) async throws(AccountError) -> Account {
        try await flows.signIn(with: authority, asking: ask)
    }

    /// Signs in on another device (RFC 8628). The function shows a code, and polls the service until the user has
    /// entered the code on the other device. See ``signIn(obtaining:)``.
    ///
    /// After network errors and failures of the service, the function continues to poll, with longer pauses, until the
    /// code expires.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - clock: The clock for the lifetime of the code and for the pauses between polls.
    ///   - show: A function that shows the code and the address to the user.
    @discardableResult
    public func signIn(
        with authority: any DeviceAuthority, clock: any Clock<Duration> = ContinuousClock(),
        showing show: (DeviceAuthorization) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await flows.signIn(with: authority, clock: clock, showing: show)
    }

    /// Signs in with a browser. See ``signIn(obtaining:)``.
    ///
    /// - Parameters:
    ///   - authority: The service.
    ///   - clock: The clock for the pauses between requests, if the service does not respond when asked for the user.
    ///   - open: A function that opens the page or shows its URL, and tells the user how long AccountKit waits.
    @discardableResult
    public func signIn(
        with authority: any BrowserAuthority, clock: any Clock<Duration> = ContinuousClock(),
        opening open: (any BrowserSignIn) async throws -> Void
    ) async throws(AccountError) -> Account {
        try await flows.signIn(with: authority, clock: clock, opening: open)
    }

    /// Returns a store for the same session whose sign-ins replace the account of another user only if the handler says so.
    package func confirmingReplacements(_ handler: @escaping ReplacementHandler) -> AccountStore {
        var flows = flows
        flows.replacementHandler = handler
        return AccountStore(flows)
    }
}
