public import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuthAuthority: PasswordAuthority {
    /// Signs in with a user name and a password (RFC 6749, section 4.3).
    ///
    /// Use this method only for your own services. OAuth 2.1 omits this grant, and many services do not support it.
    ///
    /// The user info endpoint identifies the user. If this request fails, AccountKit may repeat it once. Because the
    /// service has already issued the tokens, AccountKit then falls back to the ID token. If a service has no user
    /// info, ID tokens or introspection, the user name becomes the ID of the account. If AccountKit cannot identify the
    /// user, it revokes the tokens.
    ///
    /// - Throws: An `AuthorityError`: `oauthError(.invalidGrant, …)` if the user name or the password is wrong. If they
    ///   are correct but AccountKit cannot identify the user, an `AccountError` with the failure as its cause.
    public func signIn(username: String, password: Secret) async throws -> Account {
        let scopes = try await requestedScopes()
        let credentials = try await registeringAgain(
            for: scopes, grant: "password"
        ) { chosen throws(AuthorityError) in
            var form = FormBody()
            form.append("grant_type", "password")
            form.append("username", username)
            form.append("password", password)
            if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
            if let audience = options.audience { form.append("audience", audience) }
            return try await requestSignInTokens(form, as: chosen).credentials
        }
        do {
            return try await account(with: credentials, signedInAs: username)
        } catch {
            var unused = AccountError(unused: credentials, because: error, await revoked(credentials))
            unused.cause = error
            throw unused
        }
    }

    /// Revokes tokens in a separate task, so that the tokens do not stay valid if the caller is cancelled.
    func revoked(_ credentials: Credentials) async -> RevocationOutcome {
        await Task {
            do {
                return try await revoke(Account(id: "", issuer: issuer, credentials: credentials))
            } catch {
                return .refused(AuthorityError(error))
            }
        }.value
    }
}

extension OAuthAuthority {
    package func preparePasswordSignIn() async throws {
        guard try await documents.endpoint(.token) != nil else {
            throw documents.flaw(of: .token) ?? discovery.namesNoToken
        }
        if try await requiresClientID() { throw notRegistered }
    }
}

extension OAuthAuthority: TokenAuthority {
    /// Signs in with an existing token, such as a personal access token.
    ///
    /// The account has no refresh token and no client, because the service did not issue the token to this app.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service has no user info endpoint, and the sign-in is for no
    ///   API that could confirm the token. If the text cannot be a
    ///   token, `signInRefused` without a request to the service.
    public func signIn(token: Secret) async throws(AuthorityError) -> Account {
        guard token.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .signInRefused("this is not a token: it is empty, or contains a space or another invalid character")
        }
        var credentials = Credentials(accessToken: token, issuedAt: clock.now)
        credentials.clientSecret = .none
        if api != nil { (credentials.resources, credentials.omitsResource) = (options.resources, omitsResource) }
        do throws(AuthorityError) {
            let (identity, response) = try await userInfo(with: credentials)
            credentials.issuedAt = response.receivedAt
            credentials.expiresAt = TokenExpiry.date(in: [:], accessToken: token, response: response)
            return account(identity, credentials, username: nil)
        } catch {
            guard api != nil, let url = apiURL(of: credentials), !error.isMissing, needsNoUser(after: error) else {
                throw error
            }
            return try await account(withToken: credentials, for: url)
        }
    }

    /// Returns the account for a token that only the API can confirm.
    private func account(
        withToken credentials: Credentials, for url: ServiceURL
    ) async throws(AuthorityError) -> Account {
        var credentials = credentials
        do throws(AuthorityError) {
            _ = try await requirement(at: url, of: credentials)
        } catch {
            guard error == .unauthorized else { throw error }
            throw .signInRefused("\(url) does not accept the token (401)")
        }
        credentials.isForAPIOnly = true
        credentials.expiresAt = JSONWebToken(credentials.accessToken)?.expiresAt
        return try await account(with: credentials, claimed: nil, signedInAs: nil)
    }
}

extension OAuthAuthority {
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
            issuer: issuerIdentifier, clientID: credentials.clientID ?? clientID, nonce: nonce, date: date
        ).check(&credentials).flatMap { ServerText(secrets: credentials.tokens).passable($0) }
        do throws(AuthorityError) {
            guard try await documents.endpoint(.userInfo) != nil else {
                return try await account(with: credentials, claimed: claimed, signedInAs: username)
            }
            let identity =
                api == nil
                ? try await userInfoAskedTwice(with: credentials) : try await userInfo(with: credentials).identity
            // The users must be the same (OpenID Connect Core, section 5.3.2).
            if let claimed, claimed.id != identity.id { throw .otherUser(id: identity.id) }
            return account(identity, credentials, username: username)
        } catch {
            if needsNoUser(after: error) {
                // Later checks ask user info only if its failure was temporary, and the token may be for more than the API.
                credentials.isForAPIOnly = claimed == nil || !options.resources.isEmpty || !error.isTemporary
                return try await account(with: credentials, claimed: claimed, signedInAs: username)
            }
            guard let claimed, !Self.endsSignIn(error) else { throw error }
            return account(claimed, credentials, username: username)
        }
    }

    /// Identifies the user without user info.
    private func account(
        with credentials: Credentials, claimed: Identity?, signedInAs username: String?
    ) async throws(AuthorityError) -> Account {
        let username = username ?? options.username
        if let claimed { return account(claimed, credentials, username: username) }
        if let user = credentials.user {
            var credentials = credentials
            credentials.user = nil
            return account(Identity(id: user, username: username), credentials, username: username)
        }
        if let identity = try await introspectedAtSignIn(credentials) {
            return account(identity, credentials, username: username)
        }
        let id = username ?? Account.localIDPrefix + UUID().uuidString
        return account(Identity(id: id, username: username), credentials, username: username)
    }

    private func userInfoAskedTwice(with credentials: Credentials) async throws(AuthorityError) -> Identity {
        do throws(AuthorityError) {
            return try await userInfo(with: credentials).identity
        } catch {
            guard Self.isWorthAskingAgain(error) else { throw error }
            return try await userInfo(with: credentials).identity
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
        case .noResponse(.cancelled), .otherUser, .bearerChallenge(error: "invalid_token"): true
        default: false
        }
    }

    private func account(_ identity: Identity, _ credentials: Credentials, username: String?) -> Account {
        Account(
            id: identity.id, issuer: issuer, username: identity.username ?? username, credentials: credentials,
            profile: identity.profile, verifiedAt: credentials.issuedAt)
    }
}
