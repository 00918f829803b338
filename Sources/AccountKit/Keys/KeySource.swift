package import Sealing

/// Where the key that opens an archive comes from. There is never a silent fall-back from one source to another.
public protocol KeySource: Sendable {
    /// What kind of key it is; the archive has a slot for each kind that opens it.
    var kind: KeyKind { get }

    /// The key, as far as it can be had without asking a person.
    ///
    /// - Returns: `nil` if there is none yet, or only a person has it; neither is an error.
    /// - Throws: An ``AccountError`` if it could not be found out.
    func key() async throws -> ArchiveKey?

    /// Asks a person for the key.
    ///
    /// - Parameter attempt: 1…3; from 2 on, the answer before did not open the archive.
    /// - Returns: `nil` if no person has it, as by default.
    /// - Throws: An ``AccountError`` if there is nobody to ask, or the person gives up.
    func keyFromPerson(attempt: Int) async throws -> ArchiveKey?

    /// Makes a key where there is none, durably, and returns it; or the one that another process has just made.
    ///
    /// - Throws: An ``AccountError`` if it cannot be stored, or if this source cannot make keys.
    func makeKey() async throws -> ArchiveKey
}

extension KeySource {
    /// No person has it.
    public func keyFromPerson(attempt: Int) async throws -> ArchiveKey? { nil }
}

/// The kinds of keys that the archive format knows.
public enum KeyKind: Sendable, Hashable, CaseIterable {
    /// A file of 32 random bytes.
    case keyFile
    /// A passphrase that a person types.
    case passphrase
    /// What a command prints.
    case command
    /// What the environment or a credentials directory gives.
    case environment

    /// With its article: "a key file".
    package var text: String {
        switch self {
        case .keyFile: "a key file"
        case .passphrase: "a passphrase"
        case .command: "a key that a program has"
        case .environment: "a key of the environment"
        }
    }

    package var slotKind: KeySlot.Kind {
        switch self {
        case .keyFile: .keyFile
        case .passphrase: .passphrase
        case .command: .command
        case .environment: .environment
        }
    }

    init(_ kind: KeySlot.Kind) {
        self =
            switch kind {
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

    /// A key of 32 bytes as text, the way that programs print one: 64 hexadecimal digits, or Base64 (RFC 4648, sections 4
    /// and 5), with or without padding. White space around it is left out.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for anything else.
    public init(text: Secret) throws(AccountError) {
        guard let bytes = text.withUnsafeBytes(GuardedBytes.key(fromText:)) else {
            throw AccountError(
                .invalidArgument,
                "this is not a key: 32 random bytes as Base64 or in hexadecimal are one, such as `openssl rand -base64 32` "
                    + "prints")
        }
        opener = .key(bytes)
    }

    /// A passphrase, from which Argon2id makes the key.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty one.
    public init(passphrase: Secret) throws(AccountError) {
        guard passphrase.byteCount > 0 else { throw AccountError(.invalidArgument, "the passphrase is empty") }
        opener = .passphrase(passphrase.withUnsafeBytes { GuardedBytes(copying: $0) })
    }

    /// A key that is where it should stay.
    init(guarded bytes: GuardedBytes) {
        precondition(bytes.count == 32, "a key has 32 bytes")
        opener = .key(bytes)
    }

    /// A new random key.
    static func random() -> ArchiveKey { ArchiveKey(guarded: .random(count: 32)) }
}

extension ArchiveKey: CustomStringConvertible, CustomReflectable {
    /// Always the same text.
    public var description: String { "(key)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
