/// A source of a key that opens an archive.
///
/// ```swift
/// let store = AccountStore(container: container, keySources: [.command(["pass", "show", "notes"])])
/// ```
///
/// AccountKit never falls back from one source to another silently. If a setting is invalid, such as an empty command,
/// the functions that need the key throw ``AccountError/Code-swift.struct/invalidArgument`` before anything changes.
public struct KeySource: Sendable {
    /// `nil` for the key file of a session, whose path the container determines.
    private let provider: (any KeyProvider)?

    /// The key file of the session, which the first sign-in creates: `Account.key` in the container's `keys` folder, or
    /// for a named session in the subfolder `Sessions/<name>`.
    ///
    /// The file contains exactly 32 random bytes and has the mode 0600. It protects copies and backups of the archive
    /// that do not include the file. It does not protect the archive against a program that can read all files of the
    /// user.
    public static let file = KeySource(provider: nil)

    /// Returns a source for a key file at another path; see ``file``. Archives must not share a key file, since
    /// AccountKit replaces and removes the file with the keys of its archive.
    ///
    /// - Parameter path: An absolute path. AccountKit creates missing folders together with the key.
    public static func file(_ path: String) -> KeySource { KeySource(provider: KeyFile(path: path)) }

    /// Returns a source for a passphrase that the user types. Argon2id derives the key from it (RFC 9106; 3 passes over
    /// 256 MiB).
    ///
    /// The passphrase protects the archive even from a program that can read all files of the user, unless the
    /// passphrase can be guessed. The passphrase does not protect an unlocked session against programs of the same
    /// user.
    ///
    /// - Parameter ask: A function that asks the user. The function throws an error if it cannot ask the user, or if
    ///   the user cancels.
    public static func passphrase(
        _ ask: @escaping @Sendable (PassphraseQuestion) async throws -> Secret
    ) -> KeySource {
        KeySource(provider: PassphraseKey(ask: ask))
    }

    /// Returns a source for a program that prints only a key: 32 random bytes as Base64 or in hexadecimal.
    ///
    /// The program, such as `secret-tool`, `pass` or a password manager, runs without a shell, and its output goes
    /// directly into guarded memory. The key is only as safe as the place where the program keeps it, for example a
    /// keyring that locks with the screen.
    ///
    /// The program does not get the variables of AccountKit that contain tokens, keys, client secrets and the credentials
    /// of a store. It gets `CREDENTIALS_DIRECTORY` and `<PREFIX>_PASSPHRASE`, because it may read the key there.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments. A name without a path is looked up in `$PATH`.
    ///   - timeout: The maximum duration of the program, including questions to the user.
    ///   - hiddenVariables: More environment variables that AccountKit does not pass to the program.
    public static func command(
        _ command: [String], timeout: Duration = .seconds(60), hiding hiddenVariables: [String] = []
    ) -> KeySource {
        KeySource(provider: CommandKey(command, timeout: timeout, hiding: hiddenVariables))
    }

    /// Returns a source for a key in an environment variable or in a file of the credentials directory (systemd.exec(5),
    /// `LoadCredential=`), for services and CI. The programs that AccountKit starts do not get the variable.
    ///
    /// This key protects copies of the archive that do not include the program's environment. The key does not protect
    /// against other programs of the same user, which can read the environment of this program.
    ///
    /// - Parameters:
    ///   - variable: The environment variable, such as `NOTES_KEY`, with 32 random bytes as Base64 or in hexadecimal. The
    ///     variable has priority over the credential.
    ///   - credential: The name of the file in `$CREDENTIALS_DIRECTORY`, such as `notes.key`. The file contains 32 bytes,
    ///     or a key as text.
    public static func environment(variable: String, credential: String) -> KeySource {
        KeySource(provider: EnvironmentKey(variable: variable, credential: credential))
    }

    /// Returns a source for a key that the app itself keeps, such as in the Keychain or with a security chip.
    ///
    /// ```swift
    /// .custom(read: { try keychain.item("notes") }, save: { try keychain.add($0, as: "notes") })
    /// ```
    ///
    /// The key is text: 32 random bytes as Base64 or in hexadecimal. The slot of the archive has the type of a key that a
    /// program prints. AccountKit calls the functions before it locks the archive if it can, so they may ask the user.
    ///
    /// - Parameters:
    ///   - read: A function that returns the key; `nil` if there is no key yet. It throws an error if the key cannot be
    ///     read now, for example because the Keychain is locked.
    ///   - save: A function that stores the new key durably, unless another process has already stored one. A sign-in then
    ///     uses the key that `read` returns. With `nil`, a sign-in without a key fails with
    ///     ``AccountError/Code-swift.struct/misconfigured``.
    public static func custom(
        read: @escaping @Sendable () async throws -> Secret?,
        save: (@Sendable (Secret) async throws -> Void)? = nil
    ) -> KeySource {
        KeySource(provider: CustomKey(read: read, save: save))
    }

    /// Returns the implementation for a session.
    package func provider(in container: AppContainer, session: SessionName) -> any KeyProvider {
        provider ?? KeyFile(container: container, session: session)
    }
}

/// The passphrase to ask the user for.
public enum PassphraseQuestion: Sendable, Hashable {
    /// The passphrase of the archive; `attempt` is 1 to 3.
    case existing(attempt: Int)

    /// A passphrase for a new archive. The app asks for the passphrase twice.
    case new
}
