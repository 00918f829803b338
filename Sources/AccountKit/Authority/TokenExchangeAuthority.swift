/// An authority that obtains access tokens for other APIs, or with fewer scopes, in a session.
///
/// The store calls ``tokenDerivation(for:of:)`` before ``exchangeToken(for:of:by:)``. If the grant spends the refresh
/// token, the store follows the rules of a refresh.
public protocol TokenExchangeAuthority: AccountAuthority {
    /// Returns the grant for a target, without spending a token.
    ///
    /// - Throws: An ``AuthorityError``: `misconfigured` if the service cannot issue such a token.
    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation

    /// Requests an access token for a target.
    ///
    /// - Parameters:
    ///   - target: The purpose of the token.
    ///   - account: The account whose tokens to send. If the grant is a refresh, the account has a refresh token.
    ///   - derivation: The grant, from ``tokenDerivation(for:of:)``.
    /// - Returns: The access token. After a refresh, the result also contains the new refresh token if the service sent
    ///   one. The store ignores a refresh token of a token exchange.
    /// - Throws: An ``AuthorityError``, which does not end the session. If a refresh fails with
    ///   `oauthError(.invalidGrant)` or `rejected`, the store calls ``AccountAuthority/refresh(_:)`` once, and the
    ///   result of that call determines whether the session has ended.
    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials
}

/// The grant for a token for another API.
public enum TokenDerivation: Sendable, Hashable {
    /// A refresh with a `resource` or a narrower `scope` (RFC 6749, section 6; RFC 8707, section 2.2).
    case refresh

    /// A token exchange with the access token, which stays valid (RFC 8693).
    case tokenExchange
}
