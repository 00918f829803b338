/// The file with the private key of an OAuth client.
package struct ClientKeyFile: Sendable, Hashable {
    /// The absolute path of the file.
    package var path: String

    /// The key ID in the assertions (RFC 7515, section 4.1.4).
    package var id: String?

    /// The audience of the assertions. If it is `nil`, the audience is the issuer.
    package var audience: String?

    private static let sizeLimit = 1 << 16

    package init(path: String, id: String? = nil, audience: String? = nil) {
        self.path = path
        self.id = id
        self.audience = audience
    }

    /// Reads the file. Only its owner, which must be this user, may have access to it.
    ///
    /// - Throws: `misconfigured` with advice.
    package func read() throws(AccountError) -> Secret {
        try SecretFile(
            path: path, content: "client key", advice: "restore the file, or sign in again with --client-key FILE"
        ).read(limit: Self.sizeLimit)
    }
}

/// The secret of an OAuth client, if it was recorded (RFC 6749, section 2.3.1).
package enum ClientSecret: Sendable, Equatable {
    /// The secret was not recorded, because an app created the account itself, or because the authority is not an OAuth
    /// authority.
    case unknown

    case none

    /// The secret of the client at this service. AccountKit does not send the secret to any other service.
    case secret(Secret)
}
