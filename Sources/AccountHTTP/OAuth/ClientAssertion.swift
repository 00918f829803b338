import AccountKit
import AccountSupport

/// The source of the assertions with which a client authenticates, instead of with a secret (RFC 7521, section 4.2).
protocol ClientAssertion: Sendable {
    /// The file with the client's key, which is stored with the session of a client; `nil` if there is no such file.
    var keyFile: ClientKeyFile? { get }

    /// Returns a new assertion for one request.
    ///
    /// - Parameters:
    ///   - client: The client ID.
    ///   - audience: The authorization server's identifier.
    ///   - date: The current date.
    func assertion(for client: String, audience: String, at date: Date) async throws(AuthorityError) -> Secret
}
