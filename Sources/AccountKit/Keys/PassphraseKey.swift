package import AccountCrypto

/// A passphrase that a person types; Argon2id makes the key of it (RFC 9106; 3 passes over 256 MiB).
///
/// It protects against whoever can read all of the user's files, as far as the passphrase cannot be guessed. It does not
/// protect a session that is unlocked, see ``AccountStore/unlock(for:)``, against programs of the same user.
public struct PassphraseKey: KeySource {
    /// What a person is asked for.
    public enum Question: Sendable, Hashable {
        /// The passphrase of the archive; `attempt` is 1…3.
        case existing(attempt: Int)

        /// A passphrase for an archive that is to be made. Whoever asks has it repeated.
        case new
    }

    private let cost: PassphraseCost
    private let ask: @Sendable (Question) async throws -> Secret

    /// A passphrase.
    ///
    /// - Parameter ask: Asks a person. It throws if there is nobody to ask, or the person gives up.
    public init(ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.init(cost: .moderate, ask: ask)
    }

    package init(cost: PassphraseCost, ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.cost = cost
        self.ask = ask
    }

    /// A passphrase.
    public var kind: KeyKind { .passphrase }

    /// None: only a person has it.
    public func key() async throws -> ArchiveKey? { nil }

    /// Asks for the archive's passphrase.
    public func keyFromPerson(attempt: Int) async throws -> ArchiveKey? {
        try ArchiveKey(passphrase: try await ask(.existing(attempt: attempt)))
    }

    /// Asks for a new one.
    public func makeKey() async throws -> ArchiveKey {
        try ArchiveKey(passphrase: try await ask(.new), cost: cost)
    }
}
