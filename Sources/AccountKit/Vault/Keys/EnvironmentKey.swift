import AccountCrypto
import AccountSupport

/// A key in an environment variable or in a file of the credentials directory (systemd.exec(5), `LoadCredential=`).
struct EnvironmentKey: KeyProvider {
    /// The environment variable, such as `ACCOUNT_KEY`. The variable has priority over the credential.
    private let variable: String

    /// The name of the file in `$CREDENTIALS_DIRECTORY`, such as `account.key`. The file contains 32 bytes, or a key as
    /// text.
    private let credential: String

    private let environment: @Sendable (String) -> String?

    /// Creates a source for a key in the environment. The programs that AccountKit starts do not get the variable.
    init(variable: String, credential: String) {
        SecretVariables.add(key: variable)
        self.init(variable: variable, credential: credential, environment: Environment.value)
    }

    init(variable: String, credential: String, environment: @escaping @Sendable (String) -> String?) {
        self.variable = variable
        self.credential = credential
        self.environment = environment
    }

    var kind: KeyKind { .environment }

    var place: String? { "in \(variable)" }

    /// Returns the key; `nil` if neither the variable nor the credential is set.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/misconfigured`` if the value is not a key.
    func key() async throws -> ArchiveKey? {
        if let text = environment(variable) {
            return try naming(variable) { () throws(AccountError) in try ArchiveKey(text: Secret(text)) }
        }
        guard let folder = environment("CREDENTIALS_DIRECTORY") else { return nil }
        let path = folder + "/" + credential
        do {
            // Follow links: in Kubernetes these files are links. A process that sets the folder could also set the
            // variable.
            let file = try FileDescriptor.openForReading(path, followingLinks: true)
            var count = 0
            let bytes = try GuardedBytes(count: 1024) { buffer throws(SystemCallError) in
                count = try file.read(into: buffer)
            }
            return try naming(path) { () throws(AccountError) in
                try bytes.withUnsafeBytes { bytes throws(AccountError) in
                    count == 32
                        ? try ArchiveKey(bytes: bytes.prefix(count))
                        : try ArchiveKey(text: Secret(bytes: bytes.prefix(count)))
                }
            }
        } catch let error as SystemCallError where error.isNoEntry {
            return nil
        } catch let error as SystemCallError {
            throw AccountError(.inaccessible, "the credential \(path) cannot be read", cause: error)
        }
    }

    /// Returns the key. This source creates no keys.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/misconfigured`` if there is no key.
    func makeKey() async throws -> ArchiveKey {
        guard let key = try await key() else {
            throw AccountError(
                .misconfigured,
                "there is no key in the environment",
                hint: "set \(variable), for example to the output of `openssl rand -base64 32`, "
                    + "or pass a credential named \(credential) to the service")
        }
        return key
    }

    private func naming<Value>(_ place: String, _ body: () throws(AccountError) -> Value) throws(AccountError) -> Value
    {
        do {
            return try body()
        } catch {
            throw AccountError(.misconfigured, "\(place): \(error.message)")
        }
    }
}
