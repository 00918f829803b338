import AccountKit
import AccountSupport

/// The user of the tokens that a sign-in obtained.
struct SignInUser: Sendable {
    let connection: ServiceConnection
    let clients: ServiceClients
    let scopes: ScopeChoice

    /// Returns the account for the tokens. The user info endpoint identifies the user. If the service has no such
    /// endpoint, AccountKit uses the ID token, introspection, the user name of the sign-in, or a random ID, in this
    /// order of preference. If the request to the user info endpoint fails, the ID token identifies the user, unless
    /// the endpoint returns another user or the service rejects the new access token.
    ///
    /// For an API, AccountKit asks user info once, with or without the scope `openid`, and no failure prevents the sign-in.
    ///
    /// The tokens must pass the ``TokenCheck``. If they do not, the caller revokes them.
    ///
    /// - Parameter date: The time of the token response, by the clock of the service, or `nil` if unknown.
    func account(
        with credentials: Credentials, signedInAs username: String?, nonce: String? = nil, at date: Date? = nil
    ) async throws(AuthorityError) -> Account {
        var credentials = credentials
        let claimed = try TokenCheck(
            issuer: connection.issuer, clientID: credentials.clientID ?? clients.clientID, nonce: nonce, date: date
        ).check(&credentials).flatMap { ServerText(secrets: credentials.tokens).passable($0) }
        do throws(AuthorityError) {
            guard try await connection.documents.endpoint(.userInfo) != nil else {
                return try await account(with: credentials, claimed: claimed, signedInAs: username)
            }
            let identity =
                connection.api == nil
                ? try await userInfoAskedTwice(with: credentials)
                : try await clients.userInfo(with: credentials).identity
            // The users must be the same (OpenID Connect Core, section 5.3.2).
            if let claimed, claimed.id != identity.id { throw .otherUser(id: identity.id) }
            return account(identity, credentials, username: username)
        } catch {
            if needsNoUser(after: error) {
                // Later checks ask user info only if its failure was temporary, and the token may be for more than the API.
                credentials.isForAPIOnly = claimed == nil || !connection.options.resources.isEmpty || !error.isTemporary
                return try await account(with: credentials, claimed: claimed, signedInAs: username)
            }
            guard let claimed, !Self.endsSignIn(error) else { throw error }
            return account(claimed, credentials, username: username)
        }
    }

    /// Identifies the user without user info.
    func account(
        with credentials: Credentials, claimed: Identity?, signedInAs username: String?
    ) async throws(AuthorityError) -> Account {
        let username = username ?? connection.options.username
        if let claimed { return account(claimed, credentials, username: username) }
        if let user = credentials.user {
            var credentials = credentials
            credentials.user = nil
            return account(Identity(id: user, username: username), credentials, username: username)
        }
        if let identity = try await clients.introspected(credentials, isOptional: true) {
            return account(identity, credentials, username: username)
        }
        let id = username ?? Account.localIDPrefix + UUID().uuidString
        return account(Identity(id: id, username: username), credentials, username: username)
    }

    private func userInfoAskedTwice(with credentials: Credentials) async throws(AuthorityError) -> Identity {
        do throws(AuthorityError) {
            return try await clients.userInfo(with: credentials).identity
        } catch {
            guard Self.isWorthAskingAgain(error) else { throw error }
            return try await clients.userInfo(with: credentials).identity
        }
    }

    /// Returns whether to repeat a failed request. Returns `false` if the service sent a time to wait.
    private static func isWorthAskingAgain(_ failure: AuthorityError) -> Bool {
        switch failure {
        case .noResponse(.cancelled): false
        case .noResponse: true
        case .unavailable(let status, retryAfter: nil): status != 429
        default: false
        }
    }

    private static func endsSignIn(_ failure: AuthorityError) -> Bool {
        switch failure {
        case .noResponse(.cancelled), .otherUser, .unauthorized(error: "invalid_token"): true
        default: false
        }
    }

    func account(_ identity: Identity, _ credentials: Credentials, username: String?) -> Account {
        Account(
            id: identity.id, issuer: connection.name, username: identity.username ?? username, credentials: credentials,
            profile: identity.profile, verifiedAt: credentials.issuedAt)
    }

    /// Returns whether a sign-in continues after user info did not identify the user. A session for an API needs no user,
    /// and its token may be for the API only (RFC 8707, section 2).
    func needsNoUser(after failure: AuthorityError) -> Bool {
        switch failure {
        case .noResponse(.cancelled), .otherUser, .signInRefused: false
        case .unauthorized, .forbidden:
            connection.api != nil || !connection.options.resources.isEmpty || namesAPIInScopes
        default: connection.api != nil
        }
    }

    /// Whether the token may be for an API that only the scopes name, and then not for user info.
    private var namesAPIInScopes: Bool {
        connection.quirks.refusesResource
            && scopes.scopes.contains { !Scope.ofOpenID.contains($0) && $0 != Scope.offlineAccess }
    }
}
