/// An authority that can prove to an API, for a request of another program, that the sender has the key of a session (RFC
/// 9449).
package protocol ProofAuthority: AccountAuthority {
    /// Returns a proof for one request.
    ///
    /// - Parameters:
    ///   - credentials: The access token in the request, and its key.
    ///   - method: The method of the request, such as `GET`.
    ///   - url: The URL of the request.
    ///   - nonce: The nonce that the API requires, if any (section 9).
    /// - Throws: An ``AuthorityError``: `misconfigured` if this program cannot sign with the key. An ``AccountError``:
    ///   `invalidArgument` if the token must not be sent to the URL.
    func proof(of credentials: Credentials, method: String, url: String, nonce: String?) throws -> String
}
