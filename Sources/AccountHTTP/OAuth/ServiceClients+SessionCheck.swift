import AccountKit
import AccountSupport

/// The check of a session at one service: user info, then introspection, and then the API that the token is for.
extension ServiceClients {
    /// Returns the user of the token, and what the API of the session requires beyond it; see ``OAuthAuthority/verify(_:)``.
    func check(
        _ account: Account
    ) async throws(AuthorityError) -> (identity: Identity, requirement: AccessRequirement?) {
        try connection.checkIssuer(of: account)
        guard account.credentials.machine == nil else {
            throw .misconfigured("this session belongs to a client, not to a user")
        }
        let result = try await confirmation(of: account)
        guard result.identity.id == account.id else { throw .otherUser(id: result.identity.id) }
        return result
    }

    /// Asks user info, then introspection, and then the API. The user that the sign-in stored remains the user if no
    /// endpoint of the service identifies one.
    private func confirmation(
        of account: Account
    ) async throws(AuthorityError) -> (identity: Identity, requirement: AccessRequirement?) {
        let credentials = account.credentials
        let url = connection.apiURL(of: credentials)
        var failure: AuthorityError?
        do throws(AuthorityError) {
            if let identity = try await userInfo(of: account) { return (identity, nil) }
        } catch {
            guard url != nil, leavesOpen(error, credentials) else { throw error }
            failure = error
        }
        if credentials.isForAPIOnly || credentials.idToken == nil {
            // Only a refresh can show that the session has ended, and the API decides what introspection leaves open.
            var identity = try await introspected(credentials, isOptional: url != nil)
            // Keep the account's ID if it did not come from the service.
            if account.isUnidentified || identity?.username == account.id { identity?.id = account.id }
            if let identity, identity.id == account.id || !credentials.isForAPIOnly { return (identity, nil) }
        }
        if let url { return (Identity(id: account.id), try await connection.requirement(at: url, of: credentials)) }
        throw failure
            ?? .misconfigured(
                credentials.isForAPIOnly
                    ? "\(connection.name) cannot identify the user of this token, which is for an API only"
                    : noUserInfo)
    }

    /// Returns the user from user info; `nil` if the service has none, or if it did not identify the user at the sign-in.
    private func userInfo(of account: Account) async throws(AuthorityError) -> Identity? {
        let credentials = account.credentials
        guard !credentials.isForAPIOnly else { return nil }
        // The metadata that this process has read is newer.
        let stored = connection.documents.isKnown ? nil : credentials.tokenEndpoint
        if let url = stored.flatMap({ connection.discovery.userInfo($0, at: connection.clock.now) }) {
            let failure: AuthorityError
            do throws(AuthorityError) {
                let identity = settled(try await userInfo(with: credentials, at: url).identity, account)
                guard identity.id == account.id else { throw .otherUser(id: identity.id) }
                return identity
            } catch {
                failure = error
            }
            // An endpoint that the service no longer uses can neither end nor withhold the session.
            let mayHaveMoved = failure.isResponse || failure.isAboutHost && url.host != connection.issuer.url.host
            guard mayHaveMoved, try await connection.documents.endpoint(.userInfo)?.url != url else { throw failure }
        }
        guard try await connection.documents.endpoint(.userInfo) != nil else { return nil }
        return settled(try await userInfo(with: credentials).identity, account)
    }

    /// Returns the user with the ID of the account, if that ID did not come from the service.
    private func settled(_ identity: Identity, _ account: Account) -> Identity {
        var identity = identity
        let isEntered = lacksOpenID(account.credentials) && identity.username == account.id
        if account.isUnidentified || isEntered { identity.id = account.id }
        return identity
    }

    /// Whether the token was requested without the scope `openid`, which user info requires (OpenID Connect Core, section
    /// 5.3.1). Without it, some services identify the user, and others respond `invalid_token` to a valid token.
    private func lacksOpenID(_ credentials: Credentials) -> Bool {
        !(connection.api == nil || connection.known != nil || credentials.idToken != nil
            || credentials.scopes.contains("openid"))
    }

    /// Returns whether a failure of user info leaves open whether the session of an API works, so that the API itself
    /// decides. An unreachable service does not: the user is offline.
    private func leavesOpen(_ failure: AuthorityError, _ credentials: Credentials) -> Bool {
        guard connection.api != nil else { return false }
        return switch failure {
        case .unavailable, .intercepted, .unclear, .forbidden, .misconfigured, .refused: true
        case .unauthorized: lacksOpenID(credentials)
        default: false
        }
    }
}
