/// An authority that supports sign-in with a browser (RFC 8252).
public protocol BrowserAuthority: AccountAuthority {
    /// Starts to listen for the browser's redirect on the loopback interface, and returns the sign-in with the page to
    /// open.
    ///
    /// - Throws: An ``AuthorityError`` if the address of the service's page cannot be obtained, or an ``AccountError``
    ///   if the port of the loopback interface is not available.
    func beginBrowserSignIn() async throws -> any BrowserSignIn
}

/// A sign-in in a browser.
///
/// The store calls ``waitForResponse()``, ``credentials()`` and ``account(with:)`` in this order, and always
/// ``finish(with:)`` at the end.
public protocol BrowserSignIn: Sendable {
    /// The address of the page to open, for this sign-in only.
    var url: String { get }

    /// The time for which the sign-in waits for the user.
    var lifetime: Duration { get }

    /// How long the page can be opened; `nil` if this is possible during the whole ``lifetime``. The user may take longer
    /// on the page.
    var pageLifetime: Duration? { get }

    /// Waits until the user has finished in the browser, or until the task is cancelled.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError("access_denied")` if the user refused, and `noResponse(.cancelled)` if
    ///   the task was cancelled. An ``AccountError`` with the code ``AccountError/Code-swift.struct/signInRefused`` if
    ///   the user has not finished within the ``lifetime``.
    func waitForResponse() async throws

    /// Exchanges the authorization code from the browser for tokens. Call this function only once.
    func credentials() async throws -> Credentials

    /// Requests from the service the account to which the tokens belong. The store may call this function more than
    /// once.
    ///
    /// The store saves the account after the function has returned. A response without a user name or profile is not an
    /// error: the account requires only an `id`.
    ///
    /// - Parameter credentials: The tokens of this sign-in, as ``credentials()`` returned them.
    /// - Returns: The account with these credentials, and with the issuer of the service if there is one.
    /// - Throws: An ``AuthorityError``, for example if the tokens belong to another sign-in. If the service is
    ///   unreachable, or responds with a server error or too many requests, the store calls the function again for about
    ///   a minute. After that time, and after any other error, the store revokes the tokens, and the sign-in fails.
    func account(with credentials: Credentials) async throws -> Account

    /// Shows the result in the browser, and stops listening.
    func finish(with result: Result<Account, any Error>) async

    /// Accepts the redirect address of a browser on another machine.
    ///
    /// - Parameter pastedURL: The complete address from the browser's address bar.
    /// - Throws: `invalidArgument` if the address is not a response to this sign-in. The sign-in continues to wait.
    func receive(_ pastedURL: String) throws(AccountError)
}

extension BrowserSignIn {
    /// `nil`.
    public var pageLifetime: Duration? { nil }
}
