import AccountKit
import AccountSupport

/// The check of the tokens in a response, which is the same for each grant: a sign-in, a refresh, a token for another API, a
/// workload or another client without a user.
///
/// | | sign-in of a user | refresh | token for another API | client without a user |
/// | --- | --- | --- | --- | --- |
/// | type of the access token | refused | withheld | refused; withheld after a refresh | refused |
/// | `sub` of the response, or of the ID token | some user | another user: withheld | refused; withheld after a refresh | no ID token |
/// | `iss`, `aud` and `azp` of the ID token | of the service and this client | others: the ID token is dropped | refused; dropped after a refresh | |
/// | `nonce` and `exp` of the ID token | of the sign-in in the browser | | | |
///
/// A refusal is possible only if the request spent no refresh token, or if the caller revokes the tokens. After a refresh, the
/// session needs the new refresh token, so the credentials always pass the check: AccountKit stores them before it judges them.
/// `Credentials.hasWrongType` and `Credentials.isOfOtherUser` then withhold the access token.
struct TokenCheck: Sendable {
    let issuer: Issuer

    /// The client that requested the tokens; `nil` for a workload without a client ID.
    var clientID: String?

    /// The account that the tokens must belong to; `nil` at a sign-in.
    var owner: Account?

    /// Whether the request spent a refresh token.
    var spendsRefreshToken = false

    /// The nonce of a sign-in in the browser.
    var nonce: String?

    /// The date of the response by the clock of the service; `nil` if the check must not depend on the date.
    var date: Date?

    /// Checks the tokens, and drops an ID token that AccountKit cannot read, such as an encrypted one. If a nonce must prove
    /// that the ID token belongs to this sign-in, this is an error instead.
    ///
    /// - Returns: The user that the ID token identifies, if any.
    /// - Throws: An `AuthorityError`; `otherUser` if the ID token does not belong to the owner, and the request spent no refresh
    ///   token. AccountKit then does not revoke the new tokens, because the revocation may end the session of the account.
    @discardableResult
    func check(_ credentials: inout Credentials) throws(AuthorityError) -> Identity? {
        if credentials.hasWrongType, !spendsRefreshToken { throw refusal(of: credentials) }
        if let owner, let user = credentials.user {
            credentials.user = nil
            if user != owner.id, !owner.isUnidentified {
                guard spendsRefreshToken else { throw .otherUser(id: user) }
                credentials.isOfOtherUser = true
            }
        }
        guard let secret = credentials.idToken, let clientID else { return nil }
        guard let token = IDToken(secret) else {
            guard nonce == nil else { throw .unclear("the ID token of \(issuer.identifier) cannot be read") }
            credentials.idToken = nil
            return nil
        }
        if let owner {
            guard token.belongs(to: owner, issuer: issuer, clientID: clientID) else {
                guard spendsRefreshToken else { throw .otherUser(id: token.identity?.id ?? "") }
                credentials.idToken = nil
                // An ID token of another issuer or for another client is not trusted, but it is a warning if it names another
                // user.
                if let user = token.identity, user.id != owner.id, !owner.isUnidentified {
                    credentials.isOfOtherUser = true
                }
                return nil
            }
        } else {
            try token.check(issuer: issuer, clientID: clientID, nonce: nonce, at: date)
        }
        return token.identity
    }

    private func refusal(of credentials: Credentials) -> AuthorityError {
        let text = credentials.flawOfType(in: credentials)
        // A service that does not bind the tokens of a sign-in will not bind them at the next attempt either.
        return owner == nil && credentials.proofKey != nil ? .misconfigured(text) : .unclear(text)
    }
}
