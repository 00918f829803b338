import AccountCrypto
import AccountSupport

/// A file outside the container, with a secret that the user or the platform wrote.
package struct SecretFile: Sendable {
    /// The absolute path of the file.
    package let path: String

    /// The name of the secret, such as "client key", for errors.
    let content: String

    /// Whether the platform may have written the file, such as a projected token of Kubernetes. Then the file may belong to root
    /// and may be readable by other users, such as its group, and the path may be a link, which Kubernetes replaces when it
    /// rotates the token.
    let mayBelongToPlatform: Bool

    /// What to do if the file cannot be read.
    let advice: String

    package init(path: String, content: String, mayBelongToPlatform: Bool = false, advice: String) {
        self.path = path
        self.content = content
        self.mayBelongToPlatform = mayBelongToPlatform
        self.advice = advice
    }

    /// Reads the file. It must belong to this user, and only this user may have access to it. A file of the platform must belong
    /// to this user or root, and only its owner may change it.
    ///
    /// - Parameter limit: The largest number of bytes.
    /// - Throws: `misconfigured` with advice.
    package func read(limit: Int) throws(AccountError) -> Secret {
        do {
            let file = try FileDescriptor.openForReading(path, followingLinks: mayBelongToPlatform)
            try check(try file.status(), limit)
            // Another program may append to the file, so do not rely on its size.
            let bytes = try WipedBytes(capacity: limit) { buffer throws(SystemCallError) in
                try file.read(into: buffer)
            }
            return Secret(bytes: bytes)
        } catch let error as SystemCallError {
            throw AccountError(
                .misconfigured, "the \(content) \(path) cannot be read", hint: advice, cause: error)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.misconfigured, "the \(content) \(path) cannot be read")
        }
    }

    private func check(_ status: FileStatus, _ limit: Int) throws(AccountError) {
        let name = "name the file with the \(content)"
        guard status.kind == .regular else { throw AccountError(.misconfigured, "\(path) is not a file", hint: name) }
        guard status.owner == SystemCall.effectiveUser || mayBelongToPlatform && status.owner == 0 else {
            throw AccountError(
                .misconfigured, "the \(content) \(path) \(SystemCall.ownership(status.owner))",
                hint: "copy the \(content) to a file that belongs to you")
        }
        guard status.permissions & 0o022 == 0 || !mayBelongToPlatform else {
            throw AccountError(
                .misconfigured, "other users can change the \(content) \(path)",
                hint: "run `chmod go-w \(path.shellWord)`, and check who wrote the file")
        }
        guard status.permissions & 0o077 == 0 || mayBelongToPlatform else {
            throw AccountError(
                .misconfigured, "other users can read or change the \(content) \(path)",
                hint: "run `chmod 600 \(path.shellWord)`, and replace the \(content) if another user may have read it")
        }
        guard status.byteCount <= limit else {
            throw AccountError(.misconfigured, "\(path) is too large", hint: name)
        }
    }
}
