/// The request with which a client obtains another access token for a session without a user.
///
/// Such a session has no refresh token: AccountKit repeats the request of the sign-in. The archive does not contain the
/// secret or the key of the client, which the program must have at each request.
package struct MachineGrant: Sendable, Equatable {
    /// The type of the client credentials grant (RFC 6749, section 4.4).
    package static let clientCredentials = "client_credentials"

    /// The beginning of the message if the program did not supply the client secret.
    package static let missingSecret = "this program has no secret for the client"

    /// The grant type (RFC 6749, section 4.4.2).
    package var type: String

    /// The requested scopes.
    package var scopes: [String]

    /// The requested audience, if any.
    package var audience: String?

    /// The file with the client's key, if the client authenticates with a key (RFC 7523, section 2.2).
    package var key: ClientKeyFile?

    /// The source of the assertions of a workload, such as `["file", "/run/token"]`; `nil` if the client has a secret.
    package var workload: [String]?

    /// The audience of the assertions of a ``workload``, if it is not the issuer.
    package var assertionAudience: String?

    /// The `sub` of the assertion of the sign-in. Only an assertion for this subject renews the session. `nil` if the assertion
    /// named no subject; the next assertion then binds the session.
    package var subject: String?

    /// Whether each request needs the client secret.
    package var needsSecret: Bool { workload == nil && key == nil }

    package init(
        type: String = Self.clientCredentials, scopes: [String] = [], audience: String? = nil,
        key: ClientKeyFile? = nil, workload: [String]? = nil
    ) {
        self.type = type
        self.scopes = scopes
        self.audience = audience
        self.key = key
        self.workload = workload
    }
}

extension Account {
    /// Whether the account belongs to a client, and not to a user.
    package var isClient: Bool { credentials.machine != nil }
}
