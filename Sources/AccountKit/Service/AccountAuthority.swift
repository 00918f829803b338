/// A type that sends requests to a service to verify, refresh and revoke accounts.
///
/// An app with its own login implements this protocol in about 20 lines. `AccountHTTP` implements it for OAuth 2.0 and
/// OpenID Connect. A function returns if the service accepted the request. Otherwise the function throws an
/// ``AuthorityError``, which describes the response. AccountKit decides what the response means for the session. Any
/// other error counts as an unclear response, so a mistake in an authority never ends a session.
///
/// The ways to sign in are separate protocols: ``PasswordAuthority``, ``TokenAuthority``, ``DeviceAuthority`` and
/// ``BrowserAuthority``.
public protocol AccountAuthority: Sendable {
    /// Sends the access token to the service, and returns the user of the token.
    ///
    /// AccountKit calls this function to confirm a session. The function neither refreshes nor stores anything. It
    /// returns the user of the token even if this is not the user of `account`: AccountKit compares the two.
    ///
    /// - Parameter account: The account with the access token to send. For a token from an environment variable, the
    ///   `id` of the account is the name of the variable.
    /// - Returns: The user. A user name or profile field that the response leaves out keeps its value.
    /// - Throws: An ``AuthorityError``. After `rejected`, AccountKit clears the account. After `unauthorized`, AccountKit
    ///   refreshes the tokens, if possible, to learn whether the session has ended; without a refresh token, it clears the
    ///   account only after `unauthorized(error: "invalid_token")`. After any other error, such as an unreachable service
    ///   (`noResponse`), a failure of the service (`unavailable`) or a missing permission (`forbidden`), the user stays
    ///   signed in.
    func verify(_ account: Account) async throws -> Identity

    /// Exchanges the refresh token for a new access token. AccountKit calls this function only for an account with a
    /// refresh token, or for the account of a client without a user.
    ///
    /// - Returns: The new credentials. A value that the response leaves out is `nil` or empty, and the store then keeps
    ///   the old value.
    /// - Throws: An ``AuthorityError``. Only `rejected` and `oauthError("invalid_grant")` end the session.
    func refresh(_ account: Account) async throws -> Credentials

    /// Revokes the refresh token and the access token.
    ///
    /// - Returns: ``RevocationOutcome/done``, even if the service no longer recognizes the tokens, or
    ///   ``RevocationOutcome/notSupported`` if the service certainly cannot revoke tokens.
    /// - Throws: An ``AuthorityError``, for example if it is unknown whether the service can revoke tokens.
    func revoke(_ account: Account) async throws -> RevocationOutcome

    /// Sends the profile of `account` to the service, and returns the user after the change.
    func updateProfile(of account: Account) async throws -> Identity

    /// Whether revoking the tokens of one sign-in leaves other sign-ins of the same user and client valid.
    ///
    /// If `true`, AccountKit revokes the replaced tokens at once when the same user signs in again. If `false`,
    /// AccountKit revokes the replaced tokens when the user signs out.
    var supportsPerGrantRevocation: Bool { get }

    /// Returns whether an account belongs to this service. AccountKit sends the tokens of an account only to a service for
    /// which this function returns `true`.
    ///
    /// By default, an account belongs to the service if both have the same issuer, or if neither has an issuer.
    func isAuthority(of account: Account) -> Bool

    /// The maximum duration of a token request from its first byte; 60 s by default. AccountKit does not cancel the
    /// request earlier, since a token counts as spent as soon as it is sent.
    var tokenRequestTimeout: Duration { get }

    /// The issuer of this service's accounts, such as `https://notes.example.com`; `nil` in an app that uses only one
    /// service. At a sign-in with this authority, an account without an issuer gets this issuer.
    ///
    /// There is no default, because a property of another type would silently not replace it.
    var issuer: String? { get }
}

extension AccountAuthority {
    /// Throws an error. This default is for a service without refresh tokens.
    public func refresh(_ account: Account) async throws -> Credentials {
        throw AuthorityError.misconfigured("refreshing tokens is not supported for this service")
    }

    /// Returns ``RevocationOutcome/notSupported``. This default is for a service that cannot revoke tokens. AccountKit
    /// removes the stored tokens, but the service accepts them until they expire.
    public func revoke(_ account: Account) async throws -> RevocationOutcome { .notSupported }

    /// Throws an error. This default is for a service at which AccountKit cannot change the profile.
    public func updateProfile(of account: Account) async throws -> Identity {
        throw AuthorityError.misconfigured("changing the profile is not supported for this service")
    }

    /// The default, `false`: revoking the tokens of one sign-in may end other sign-ins.
    public var supportsPerGrantRevocation: Bool { false }

    /// The default, 60 s.
    public var tokenRequestTimeout: Duration { .seconds(60) }

    /// The default: whether the account has the ``issuer`` of this service.
    public func isAuthority(of account: Account) -> Bool { account.issuer == issuer }
}

/// An authority that supports sign-in with a user name and password.
public protocol PasswordAuthority: AccountAuthority {
    /// Signs in, and returns the account at the service.
    func signIn(username: String, password: Secret) async throws -> Account
}

/// An authority that supports sign-in with an access token.
public protocol TokenAuthority: AccountAuthority {
    /// Signs in with an access token that the user provides, and returns the token's account at the service.
    func signIn(token: Secret) async throws -> Account
}
