/// The request with which a client obtains another access token for a session without a user.
///
/// Such a session has no refresh token: AccountKit repeats the request of the sign-in. The archive does not contain the
/// secret of the client, which the program must have at each request.
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

    /// The source of the assertions of a workload, such as `["file", "/run/token"]`; `nil` if the client has a secret.
    package var workload: [String]?

    /// Whether each request needs the client secret.
    package var needsSecret: Bool { workload == nil }

    package init(
        type: String = Self.clientCredentials, scopes: [String] = [], audience: String? = nil,
        workload: [String]? = nil
    ) {
        self.type = type
        self.scopes = scopes
        self.audience = audience
        self.workload = workload
    }
}
