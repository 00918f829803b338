import AccountKit

/// The source of the assertions with which a client authenticates, instead of with a secret (RFC 7521, section 4.2).
protocol ClientAssertion: Sendable {
    /// Returns a new assertion for one request.
    ///
    /// - Parameters:
    ///   - client: The client ID.
    ///   - audience: The authorization server's identifier, or the URL of its token endpoint.
    func assertion(for client: String, audience: String) async throws(AuthorityError) -> Secret
}
