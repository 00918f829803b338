/// An authority that issues access tokens for other APIs, or for less, to who is signed in.
///
/// The store asks how first, and then for the token, so that it knows before the request whether the refresh token is spent
/// for it: then it obeys all rules of a refresh.
public protocol TokenExchangeAuthority: AccountAuthority {
    /// How a token for a target is to be had. Nothing is spent on finding out.
    ///
    /// - Throws: An ``AuthorityError``: `misconfigured` if the service has no way to issue such a token.
    func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation

    /// Asks for an access token for a target.
    ///
    /// - Parameters:
    ///   - target: What the token is to be for.
    ///   - account: Whose tokens are used for it. It has a refresh token if that is what is exchanged.
    ///   - derivation: How, as ``tokenDerivation(for:of:)`` said.
    /// - Returns: The access token, and with a refresh the new refresh token if the service sent one. A refresh token that comes
    ///   with a token exchange is not used.
    /// - Throws: An ``AuthorityError``, which ends no session. After `oauthError(.invalidGrant)` or `rejected` with a refresh, the store
    ///   calls ``AccountAuthority/refresh(_:)`` once, and what that throws decides.
    func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials
}

/// How a token for another API is had.
public enum TokenDerivation: Sendable, Hashable {
    /// In exchange for the refresh token, with a `resource` or a narrower `scope` (RFC 6749, section 6; RFC 8707, section 2.2).
    case refresh

    /// In exchange for the access token, which stays what it is (RFC 8693).
    case tokenExchange
}
