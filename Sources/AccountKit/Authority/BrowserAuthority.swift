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

    /// Waits until the user has finished in the browser, or until the task is cancelled.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError(.accessDenied)` if the user refused, `signInRefused` after the
    ///   ``lifetime``, and `noResponse(.cancelled)` if the task was cancelled.
    func waitForResponse() async throws

    /// Exchanges the authorization code from the browser for tokens. Call this function only once.
    func credentials() async throws -> Credentials

    /// Requests from the service the account to which the tokens belong. The store may call this function more than
    /// once.
    ///
    /// - Throws: An ``AuthorityError``, for example if the tokens belong to another sign-in.
    func account(with credentials: Credentials) async throws -> Account

    /// Shows the result in the browser, and stops listening.
    func finish(with result: Result<Account, any Error>) async

    /// Accepts the redirect address of a browser on another machine.
    ///
    /// - Parameter pastedURL: The complete address from the browser's address bar.
    /// - Throws: `invalidArgument` if the address is not a response to this sign-in. The sign-in continues to wait.
    func receive(_ pastedURL: String) throws(AccountError)
}
