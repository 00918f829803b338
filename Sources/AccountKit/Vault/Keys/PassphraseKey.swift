package import AccountCrypto

/// A passphrase that the user types. Argon2id derives the key from it (RFC 9106; 3 passes over 256 MiB).
///
/// The passphrase protects the archive even from a program that can read all files of the user, unless the passphrase
/// can be guessed. The passphrase does not protect an unlocked session against programs of the same user.
public struct PassphraseKey: KeySource {
    /// The passphrase to ask the user for.
    public enum Question: Sendable, Hashable {
        /// The passphrase of the archive; `attempt` is 1 to 3.
        case existing(attempt: Int)

        /// A passphrase for a new archive. The app asks for the passphrase twice.
        case new
    }

    private let cost: PassphraseCost
    private let ask: @Sendable (Question) async throws -> Secret

    /// Creates a source for a passphrase.
    ///
    /// - Parameter ask: A function that asks the user. The function throws an error if it cannot ask the user, or if
    ///   the user cancels.
    public init(ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.init(cost: .moderate, ask: ask)
    }

    package init(cost: PassphraseCost, ask: @escaping @Sendable (Question) async throws -> Secret) {
        self.cost = cost
        self.ask = ask
    }

    /// The kind `passphrase`.
    public var kind: KeyKind { .passphrase }

    /// Returns `nil`: only the user has the key.
    public func key() async throws -> ArchiveKey? { nil }

    /// Asks for the passphrase of the archive.
    public func keyFromUser(attempt: Int) async throws -> ArchiveKey? {
        try ArchiveKey(passphrase: try await ask(.existing(attempt: attempt)))
    }

    /// Asks for a new passphrase.
    public func makeKey() async throws -> ArchiveKey {
        try ArchiveKey(passphrase: try await ask(.new), cost: cost)
    }
}
