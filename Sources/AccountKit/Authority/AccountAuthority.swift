/// A service that verifies, refreshes and revokes accounts.
///
/// An app with its own login implements this protocol in about twenty lines. `AccountHTTP` implements it for OAuth 2.0
/// and OpenID Connect. A function returns if the service accepted the request. Otherwise it throws an
/// ``AuthorityError`` that describes the response, and does not decide what it means. Any other error counts as an
/// unclear response, so a mistake in an authority never ends a session.
///
/// The ways to sign in are separate protocols: ``PasswordAuthority``, ``TokenAuthority``, ``DeviceAuthority`` and
/// ``BrowserAuthority``. ``ProfileAuthority`` changes the profile.
public protocol AccountAuthority: Sendable {
    /// Asks the service whose the access token is.
    func verify(_ account: Account) async throws -> Identity

    /// Exchanges the refresh token for a new access token. The account has a refresh token.
    ///
    /// - Returns: The new credentials. Values that the response leaves out are `nil` or empty, and the store keeps the
    ///   old ones.
    func refresh(_ account: Account) async throws -> Credentials

    /// Revokes the refresh token and the access token.
    ///
    /// - Returns: ``RevocationOutcome/done``, even if the service no longer knows the tokens, or
    ///   ``RevocationOutcome/notSupported`` if the service certainly cannot revoke tokens.
    /// - Throws: An ``AuthorityError``, for example if it is unknown whether the service can revoke tokens.
    func revoke(_ account: Account) async throws -> RevocationOutcome

    /// Whether revoking the tokens of one sign-in leaves other sign-ins of the same user and client valid.
    ///
    /// If so, a new sign-in of the same user revokes the replaced tokens at once. Otherwise they are revoked when the
    /// user signs out.
    var supportsPerGrantRevocation: Bool { get }

    /// Whether an account belongs to this service, so that its tokens may be sent there.
    func isAuthority(of account: Account) -> Bool

    /// How long a token request may take from its first byte; 60 s by default. AccountKit does not cancel the request
    /// earlier, since a token that was sent is spent.
    var tokenRequestTimeout: Duration { get }

    /// The issuer of this service's accounts; `nil` in an app that knows only one service.
    var accountIssuer: String? { get }
}

extension AccountAuthority {
    /// Throws an error, for a service without refresh tokens.
    public func refresh(_ account: Account) async throws -> Credentials {
        throw AuthorityError.misconfigured("refreshing tokens is not supported for this service")
    }

    /// Returns `.notSupported`, for a service that cannot revoke tokens: AccountKit removes the tokens here, and the
    /// service accepts them until they expire.
    public func revoke(_ account: Account) async throws -> RevocationOutcome { .notSupported }

    /// `false`: by default, revoking one sign-in may end others.
    public var supportsPerGrantRevocation: Bool { false }

    /// 60 s, by default.
    public var tokenRequestTimeout: Duration { .seconds(60) }

    /// `nil`, for an app that knows only one service.
    public var accountIssuer: String? { nil }
}

/// A user at the service.
public struct Identity: Sendable, Hashable {
    /// The id of the user.
    public var id: String

    /// The user name.
    public var username: String?

    /// The profile fields that the service returned. Other fields keep their values.
    public var profile: UserProfile

    /// Creates an identity.
    public init(id: String, username: String? = nil, profile: UserProfile = UserProfile()) {
        self.id = id
        self.username = username
        self.profile = profile
    }

    /// Creates an identity for a service that numbers its users.
    public init(id: some BinaryInteger, username: String? = nil, profile: UserProfile = UserProfile()) {
        self.init(id: String(id), username: username, profile: profile)
    }
}

/// An authority that supports sign-in with a user name and password.
public protocol PasswordAuthority: AccountAuthority {
    /// Signs in, and returns the account at the service.
    func signIn(username: String, password: Secret) async throws -> Account
}

/// An authority that supports sign-in with an access token.
public protocol TokenAuthority: AccountAuthority {
    /// Signs in with a token that the user has, and returns its account at the service.
    func signIn(token: Secret) async throws -> Account
}

/// An authority that can change the user's profile.
public protocol ProfileAuthority: AccountAuthority {
    /// Sends the profile of `account` to the service, and returns the user after the change.
    func updateProfile(of account: Account) async throws -> Identity
}
