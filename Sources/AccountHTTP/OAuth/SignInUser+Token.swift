import AccountKit
import AccountSupport

/// A sign-in with an existing token.
extension SignInUser {
    /// See ``OAuthAuthority/signIn(token:)``.
    func account(withToken token: Secret) async throws(AuthorityError) -> Account {
        guard token.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .signInRefused("this is not a token: it is empty, or contains a space or another invalid character")
        }
        var credentials = Credentials(accessToken: token, issuedAt: connection.clock.now)
        credentials.clientSecret = .none
        if connection.api != nil {
            (credentials.resources, credentials.omitsResource) = (
                connection.options.resources, connection.omitsResource
            )
        }
        do throws(AuthorityError) {
            let (identity, response) = try await clients.userInfo(with: credentials)
            credentials.issuedAt = response.receivedAt
            credentials.expiresAt = TokenExpiry.date(in: [:], accessToken: token, response: response)
            return account(identity, credentials, username: nil)
        } catch {
            // A service at the URL of the user itself recognizes its own tokens.
            guard connection.api != nil, !connection.isAPI, let url = connection.apiURL(of: credentials),
                !error.isMissing, needsNoUser(after: error)
            else { throw error }
            return try await account(withToken: credentials, for: url)
        }
    }

    /// Returns the account for a token that only the API can confirm.
    private func account(
        withToken credentials: Credentials, for url: ServiceURL
    ) async throws(AuthorityError) -> Account {
        var credentials = credentials
        guard try await connection.requiresToken(at: url) else {
            throw .signInRefused(
                "no user is known for the token, and \(url) also responds without a token, so it confirms none: use a URL of the "
                    + "API that requires a token")
        }
        do throws(AuthorityError) {
            _ = try await connection.requirement(at: url, of: credentials)
        } catch {
            guard error == .unauthorized(error: nil) else { throw error }
            throw .signInRefused("\(url) does not accept the token (401)")
        }
        credentials.isForAPIOnly = true
        credentials.expiresAt = JSONWebToken(credentials.accessToken)?.expiresAt
        return try await account(with: credentials, claimed: nil, signedInAs: nil)
    }
}
