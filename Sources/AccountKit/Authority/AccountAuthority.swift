/// A service that knows accounts: it verifies, refreshes and revokes them.
///
/// An app with a login of its own implements this in some twenty lines; `AccountHTTP` has it for OAuth 2.0 and OpenID
/// Connect. Each function returns if the service did what was asked. Otherwise it throws the ``AuthorityError`` that
/// says what the response looked like, and decides nothing itself. Any other error that it throws counts as an unexpected
/// response, so a mistake in an authority never signs anyone out.
///
/// Ways to sign in are separate protocols, since few services have them all: ``PasswordAuthority``, ``TokenAuthority``,
/// ``DeviceAuthority`` and ``BrowserAuthority``. So is a profile that can be changed: ``ProfileAuthority``.
public protocol AccountAuthority: Sendable {
    /// Asks the service whose the access token is.
    func verify(_ account: Account) async throws -> Identity

    /// Exchanges the refresh token for a new access token. Called only for an account that has a refresh token.
    ///
    /// - Returns: The new credentials. What the response leaves out is `nil` or empty; the store keeps what it had.
    func refresh(_ account: Account) async throws -> Credentials

    /// Tells the service that this sign-in is over, so that it revokes the refresh token and the access token.
    ///
    /// - Returns: ``RevocationOutcome/done``, also for tokens that the service does not know any more, or
    ///   ``RevocationOutcome/notSupported`` if it is certain that the service cannot be told.
    /// - Throws: An ``AuthorityError``, also if it could not be found out whether the service can be told.
    func revoke(_ account: Account) async throws -> RevocationOutcome

    /// Whether revoking the tokens of one sign-in leaves other sign-ins of the same user and client alone.
    ///
    /// Then a sign-in that replaces another of the same user revokes what it replaces.
    var supportsPerGrantRevocation: Bool { get }

    /// Whether an account is of this service, so that what has to do with this service may see its tokens.
    func isAuthority(of account: Account) -> Bool

    /// How long an exchange of tokens may take from the first byte of its request on; 60 s unless the authority says
    /// otherwise. Nothing cuts it off before that, since what was sent is spent.
    var tokenRequestTimeout: Duration { get }

    /// The issuer that the accounts of this service have; `nil` for an app that knows one service only.
    var accountIssuer: String? { get }
}

extension AccountAuthority {
    /// For a service without refresh tokens.
    public func refresh(_ account: Account) async throws -> Credentials {
        throw AuthorityError.misconfigured("this service is not known to refresh tokens")
    }

    /// For a service that cannot be told of a sign-out: the tokens are forgotten here, and live on there till they expire.
    public func revoke(_ account: Account) async throws -> RevocationOutcome { .notSupported }

    /// For a service that does not say: revoking one sign-in may end others.
    public var supportsPerGrantRevocation: Bool { false }

    /// A minute.
    public var tokenRequestTimeout: Duration { .seconds(60) }

    /// For an app that knows one service only.
    public var accountIssuer: String? { nil }
}

/// A user, as the service knows them.
public struct Identity: Sendable, Hashable {
    /// The user at the service.
    public var id: String

    /// The name that the user is known by.
    public var username: String?

    /// What the service says of the user; fields that it does not mention keep their values.
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

/// An authority at which one signs in with a user name and a password.
public protocol PasswordAuthority: AccountAuthority {
    /// Signs in; the account is what the service says of it.
    func signIn(username: String, password: Secret) async throws -> Account
}

/// An authority that can tell whose a given access token is.
public protocol TokenAuthority: AccountAuthority {
    /// Signs in with a token that the user got elsewhere; the account is what the service says of it.
    func signIn(token: Secret) async throws -> Account
}

/// An authority at which the user's profile can be changed.
public protocol ProfileAuthority: AccountAuthority {
    /// Sends the profile of `account` to the service, and returns the user as the service knows them after the change.
    func updateProfile(of account: Account) async throws -> Identity
}
