public import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuthAuthority: PasswordAuthority {
    /// Signs in with a user name and a password (RFC 6749, section 4.3).
    ///
    /// Use this only for your own services: OAuth 2.1 omits this grant, and many services do not support it.
    ///
    /// The user info endpoint names the user. If it fails, it is asked again, and after that the ID token is used, since the tokens are
    /// already issued. If a service has neither user info nor ID tokens, the user name becomes the id of the account. If the user remains
    /// unknown, the tokens are revoked.
    ///
    /// - Throws: An `AuthorityError`: `oauthError(.invalidGrant, …)` if name or password are wrong. An `AccountError` with the failure as
    ///   its cause if they are right, but the user of the tokens is unknown.
    public func signIn(username: String, password: Secret) async throws -> Account {
        var form = FormBody()
        form.append("grant_type", "password")
        form.append("username", username)
        form.append("password", password)
        let scopes = try await requestedScopes()
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        if let audience = options.audience { form.append("audience", audience) }
        let credentials = try await requestSignInTokens(form).credentials
        do {
            return try await account(with: credentials, signedInAs: username)
        } catch {
            var unidentified = AccountError(unidentified: error, await revoked(credentials))
            unidentified.cause = error
            throw unidentified
        }
    }

    /// Revokes tokens in a separate task, so that a cancellation of the caller does not leave them valid.
    private func revoked(_ credentials: Credentials) async -> RevocationOutcome {
        await Task {
            // The sign-in reports its own failure.
            (try? await revoke(Account(id: "", issuer: issuer, credentials: credentials))) ?? .notSupported
        }.value
    }
}

extension OAuthAuthority: TokenAuthority {
    /// Signs in with a token that the user has, such as a personal access token.
    ///
    /// The account has no refresh token and no client: the token was not issued to this app.
    ///
    /// - Throws: An `AuthorityError`: `misconfigured` if the service has no user info endpoint, and `signInRefused`
    ///   without a request if the text cannot be a token.
    public func signIn(token: Secret) async throws(AuthorityError) -> Account {
        guard token.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .signInRefused("this is no token: it is empty, or has a space or a character that no token has")
        }
        let (identity, response) = try await userInfo(with: token)
        var credentials = Credentials(
            accessToken: token, issuedAt: response.receivedAt,
            expiresAt: TokenExpiry.date(expiresIn: nil, accessToken: token, response: response))
        credentials.clientSecret = .none
        return account(identity, credentials, username: nil)
    }
}

extension OAuthAuthority {
    /// The user info endpoint says whose the tokens are, else the ID token, else the introspection endpoint. A service with OAuth 2.0
    /// alone has none of them: then the user name of the sign-in is the id, or, without one, a random id. A user info that does not
    /// say does not end the sign-in if there is an ID token; what contradicts the tokens does: a user info that is not
    /// the ID token's user, or an access token that is refused the moment it was issued.
    ///
    /// An ID token must be this service's and this client's (OpenID Connect Core, section 3.1.3.7). One that is not readable says
    /// nothing and is left out, unless it has to prove by its nonce that it belongs to this sign-in.
    ///
    /// - Parameters:
    ///   - nonce: The nonce of the authorization request; `nil` if it had none.
    ///   - date: When the tokens came, by the clock of the service; `nil` if that is not known.
    /// - Throws: Why it is not known whose the tokens are.
    func account(
        with credentials: Credentials, signedInAs username: String?, nonce: String? = nil, at date: Date? = nil
    ) async throws(AuthorityError) -> Account {
        var credentials = credentials
        var claimed: Identity?
        if let secret = credentials.idToken, let clientID = credentials.clientID ?? clientID {
            if let token = IDToken(secret) {
                try token.check(issuer: issuerIdentifier, clientID: clientID, nonce: nonce, at: date)
                claimed = token.identity
            } else if nonce == nil {
                credentials.idToken = nil
            } else {
                throw .unclear("the ID token of \(issuer) cannot be read")
            }
        }
        guard try await documents.endpoint(.userInfo) != nil else {
            let username = username ?? options.username
            if let claimed { return account(claimed, credentials, username: username) }
            if let identity = try await introspectedAtSignIn(credentials) {
                return account(identity, credentials, username: username)
            }
            let id = username ?? Self.localIDPrefix + UUID().uuidString
            return account(Identity(id: id, username: username), credentials, username: username)
        }
        do throws(AuthorityError) {
            let identity = try await userInfoAskedTwice(with: credentials.accessToken)
            // OpenID Connect Core, section 5.3.2.
            if let claimed, claimed.id != identity.id { throw .otherUser(id: identity.id) }
            return account(identity, credentials, username: username)
        } catch {
            guard let claimed, !Self.endsSignIn(error) else { throw error }
            return account(claimed, credentials, username: username)
        }
    }

    private func userInfoAskedTwice(with token: Secret) async throws(AuthorityError) -> Identity {
        do throws(AuthorityError) {
            return try await userInfo(with: token).identity
        } catch {
            guard Self.isWorthAskingAgain(error) else { throw error }
            return try await userInfo(with: token).identity
        }
    }

    /// No if the service named a time to wait.
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
