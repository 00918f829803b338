/// An authority at which one signs in with a browser on this machine (RFC 8252).
public protocol BrowserAuthority: AccountAuthority {
    /// Gets ready to receive the browser's answer on the loopback interface, and says which page to open.
    ///
    /// - Throws: An ``AuthoritySignal`` if the service cannot be asked where its page is, or an ``AccountError`` if no port
    ///   of the loopback interface can be had.
    func beginBrowserSignIn() async throws -> any BrowserSignIn
}

/// A sign-in that goes on in a browser.
public protocol BrowserSignIn: Sendable {
    /// The page to open. It is good for this one sign-in.
    var address: String { get }

    /// How long the user is waited for.
    var lifetime: Duration { get }

    /// Waits until the user is done in the browser, and gets the account.
    ///
    /// Nothing is received any more once it has returned or thrown, also if the task was cancelled.
    ///
    /// - Throws: An ``AuthoritySignal``: `oauthError(.accessDenied)` if the user refused, and `signInRefused` if nobody came
    ///   in time.
    func account() async throws -> Account
}
