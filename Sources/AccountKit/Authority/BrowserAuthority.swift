/// An authority at which one signs in with a browser (RFC 8252).
public protocol BrowserAuthority: AccountAuthority {
    /// Gets ready to receive the browser's answer on the loopback interface, and says which page to open.
    ///
    /// - Throws: An ``AuthorityError`` if the service cannot be asked where its page is, or an ``AccountError`` if the port
    ///   of the loopback interface cannot be had.
    func beginBrowserSignIn() async throws -> any BrowserSignIn
}

/// A sign-in that goes on in a browser.
///
/// The steps are those of a sign-in in their order: ``waitForResponse()``, ``credentials()``, ``account(with:)`` and, whatever
/// came of them, ``finish(with:)``.
public protocol BrowserSignIn: Sendable {
    /// The page to open. It is good for this one sign-in.
    var url: String { get }

    /// How long the user is waited for.
    var lifetime: Duration { get }

    /// Waits until the user is done in the browser. Cancelling the task ends the wait.
    ///
    /// - Throws: An ``AuthorityError``: `oauthError(.accessDenied)` if the user refused, `signInRefused` if nobody came in
    ///   time, and `noResponse(.cancelled)`.
    func waitForResponse() async throws

    /// Exchanges what the browser brought for tokens. That can be done once.
    func credentials() async throws -> Credentials

    /// Asks whose the tokens are. It may be asked again.
    ///
    /// - Throws: An ``AuthorityError``, also if the tokens are not of this sign-in.
    func account(with credentials: Credentials) async throws -> Account

    /// Shows in the browser what came of the sign-in, and stops listening; also after a failure or a cancellation.
    func finish(with result: Result<Account, any Error>) async

    /// Takes the address that a browser elsewhere ended on, in place of its visit here.
    ///
    /// - Parameter pastedURL: The whole address, as it stands in the browser's address bar.
    /// - Throws: `invalidArgument` if it is not the address of an answer to this sign-in; the wait goes on then.
    func receive(_ pastedURL: String) throws(AccountError)
}
