package import Sealing

/// Where the key that opens an archive comes from. There is never a silent fall-back from one source to another.
public protocol KeySource: Sendable {
    /// What kind of key it is; the archive has a slot for each kind that opens it.
    var kind: KeyKind { get }

    /// The key.
    ///
    /// - Returns: `nil` if there is none yet, which is not an error.
    /// - Throws: An ``AccountError`` if it could not be found out.
    func key() async throws -> ArchiveKey?

    /// Makes a key where there is none, durably, and returns it; or the one that another process has just made.
    ///
    /// - Throws: An ``AccountError`` if it cannot be stored, or if this source cannot make keys.
    func makeKey() async throws -> ArchiveKey
}

/// The kinds of keys that the archive format knows.
public enum KeyKind: Sendable, Hashable {
    /// A file of 32 random bytes.
    case keyFile
    /// A passphrase that a person types.
    case passphrase
    /// What a command prints.
    case command
    /// What the environment or a credentials directory gives.
    case environment

    package var slotKind: KeySlot.Kind {
        switch self {
        case .keyFile: .keyFile
        case .passphrase: .passphrase
        case .command: .command
        case .environment: .environment
        }
    }
}

/// A key, or a passphrase that yields one. It never shows itself; see ``Secret``.
public struct ArchiveKey: Sendable {
    package let opener: KeySlot.Opener

    /// A key of exactly 32 bytes.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for another length.
    public init(bytes: some Collection<UInt8>) throws(AccountError) {
        guard bytes.count == 32 else {
            throw AccountError(.invalidArgument, "a key has 32 bytes, this one has \(bytes.count)")
        }
        opener = .key(GuardedBytes(copying: bytes))
    }

    /// A passphrase, from which Argon2id makes the key.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty one.
    public init(passphrase: Secret) throws(AccountError) {
        guard passphrase.byteCount > 0 else { throw AccountError(.invalidArgument, "the passphrase is empty") }
        opener = .passphrase(passphrase.withUnsafeBytes { GuardedBytes(copying: $0) })
    }

    private init(_ bytes: GuardedBytes) { opener = .key(bytes) }

    /// A new random key.
    static func random() -> ArchiveKey { ArchiveKey(.random(count: 32)) }
}

extension ArchiveKey: CustomStringConvertible, CustomReflectable {
    /// Always the same text.
    public var description: String { "(key)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
