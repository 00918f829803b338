/// An authority that issues access tokens for other APIs, or with fewer scopes, in a session.
///
/// The store first asks which grant to use, and then for the token. So it knows before the request whether it spends
/// the refresh token, and then follows the rules of a refresh.
public protocol TokenExchangeAuthority: AccountAuthority {
    /// Returns the grant for a target. This spends no token.
    ///
    /// - Throws: An ``AuthorityError``: `misconfigured` if the service has no way to issue such a token.
    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation

    /// Requests an access token for a target.
    ///
    /// - Parameters:
    ///   - target: The purpose of the token.
    ///   - account: The account whose tokens are sent. For a refresh it has a refresh token.
    ///   - derivation: The grant, from ``tokenDerivation(for:of:)``.
    /// - Returns: The access token, and after a refresh the new refresh token if the service sent one. The store
    ///   ignores a refresh token of a token exchange.
    /// - Throws: An ``AuthorityError``, which ends no session. After `oauthError(.invalidGrant)` or `rejected` for a
    ///   refresh, the store calls ``AccountAuthority/refresh(_:)`` once, and its result decides.
    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials
}

/// The grant for a token for another API.
public enum TokenDerivation: Sendable, Hashable {
    /// A refresh with a `resource` or a narrower `scope` (RFC 6749, section 6; RFC 8707, section 2.2).
    case refresh

    /// A token exchange for the access token, which stays valid (RFC 8693).
    case tokenExchange
}
