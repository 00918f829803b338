import AccountCrypto
import AccountSupport

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
        do {
            let file = try FileDescriptor.openForReading(path)
            let status = try file.status()
            guard status.kind == .regular else {
                throw AccountError(.misconfigured, "\(path) is not a file", hint: "name the file with the client key")
            }
            guard status.owner == SystemCall.effectiveUser else {
                throw AccountError(
                    .misconfigured, "the client key \(path) \(SystemCall.ownership(status.owner))",
                    hint: "copy the key to a file that belongs to you")
            }
            guard status.permissions & 0o077 == 0 else {
                throw AccountError(
                    .misconfigured, "other users can read or change the client key \(path)",
                    hint: "run `chmod 600 \(path.shellWord)`, and replace the key if another user may have read it")
            }
            guard status.byteCount <= Self.sizeLimit else {
                throw AccountError(
                    .misconfigured, "\(path) is too large for a client key", hint: "name the file with the client key")
            }
            let bytes = try WipedBytes(capacity: Self.sizeLimit) { buffer throws(SystemCallError) in
                try file.read(into: buffer)
            }
            return Secret(bytes: bytes)
        } catch let error as SystemCallError {
            throw AccountError(
                .misconfigured, "the client key \(path) cannot be read",
                hint: "restore the file, or sign in again with --client-key FILE", cause: error)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.misconfigured, "the client key \(path) cannot be read")
        }
    }
}
