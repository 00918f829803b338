package import AccountCrypto

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

    /// Whether it is a person who gives the key, also a new one in ``makeKey()``. Then it is asked for before the archive is
    /// locked, where others would wait.
    ///
    /// By default, whether it is a passphrase.
    var isInteractive: Bool { get }

    /// The key where this source stores it itself, and can replace and remove it; `nil` if it cannot, as by default.
    ///
    /// A source that wraps another passes on the other's.
    var storage: (any KeyStorage)? { get }
}

extension KeySource {
    /// No person has it.
    public func keyFromPerson(attempt: Int) async throws -> ArchiveKey? { nil }

    /// Whether it is a passphrase.
    public var isInteractive: Bool { kind == .passphrase }

    /// It cannot be replaced or removed from here.
    public var storage: (any KeyStorage)? { nil }
}

/// A key that its source stores itself, such as in a file or in a security chip. The key of one archive: it is replaced and
/// removed together with the archive's slot.
///
/// A replacement has a key that is to come, the *successor*, and after that the key from before, the *predecessor*, both
/// stored beside the key, so that a process that dies at any time leaves a key that opens the archive. All but
/// ``settle()`` and ``hasReplacement()`` are called while the archive is locked.
public protocol KeyStorage: Sendable {
    /// Makes sure that the key survives a power cut, before an archive is sealed with it for the first time: whoever made it
    /// may have died before that.
    func settle() async throws

    /// Makes a successor, durably, in place of one that there may be already.
    func makeSuccessor() async throws -> ArchiveKey

    /// Puts the successor in the key's place, in one step. The key from before stays as the predecessor.
    func installSuccessor() async throws

    /// Whether a replacement was begun and not finished.
    func hasReplacement() async throws -> Bool

    /// The successor and the predecessor of a replacement that was begun and not finished, as far as they can be read.
    func unfinishedReplacement() async throws -> [ArchiveKey]

    /// Removes the successor and the predecessor, as far as they are there.
    func forgetReplacement() async throws

    /// Removes the key, since no archive opens with it any more.
    func remove() async throws
}

/// A key, or a passphrase that yields one. It never shows itself; see ``Secret``.
public struct ArchiveKey: Sendable {
    package let opener: KeySlot.Opener

    /// For a passphrase only.
    let cost: PassphraseCost

    /// A key of exactly 32 bytes.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for another length.
    public init(bytes: some Collection<UInt8>) throws(AccountError) {
        guard bytes.count == 32 else {
            throw AccountError(.invalidArgument, "a key has 32 bytes, this one has \(bytes.count)")
        }
        self.init(guarded: GuardedBytes(copying: bytes))
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
        self.init(guarded: bytes)
    }

    /// A passphrase, from which Argon2id makes the key.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty one.
    public init(passphrase: Secret) throws(AccountError) {
        try self.init(passphrase: passphrase, cost: .moderate)
    }

    init(passphrase: Secret, cost: PassphraseCost) throws(AccountError) {
        guard passphrase.byteCount > 0 else { throw AccountError(.invalidArgument, "the passphrase is empty") }
        opener = .passphrase(passphrase.withUnsafeBytes { GuardedBytes(copying: $0) })
        self.cost = cost
    }

    /// Makes no copy.
    init(guarded bytes: GuardedBytes) {
        precondition(bytes.count == 32, "a key has 32 bytes")
        opener = .key(bytes)
        cost = .moderate
    }

    static func random() -> ArchiveKey { ArchiveKey(guarded: .random(count: 32)) }
}

extension ArchiveKey: CustomStringConvertible, CustomReflectable {
    /// Always the same text.
    public var description: String { "(key)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
