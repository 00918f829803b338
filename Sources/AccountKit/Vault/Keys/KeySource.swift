package import AccountCrypto

/// A source of a key that opens an archive. AccountKit never falls back from one source to another silently.
public protocol KeySource: Sendable {
    /// The kind of the key. The archive has a slot for each kind of key that opens it.
    var kind: KeyKind { get }

    /// Returns the key without asking the user.
    ///
    /// - Returns: The key; `nil` if there is no key yet, or if only the user has the key. Neither case is an error.
    /// - Throws: An ``AccountError`` if the source cannot be read.
    func key() async throws -> ArchiveKey?

    /// Asks the user for the key.
    ///
    /// - Parameter attempt: The number of the attempt, 1 to 3. From 2 on, the previous answer did not open the archive.
    /// - Returns: The key; `nil` if the user does not have the key, which is the default.
    /// - Throws: An ``AccountError`` if the user cannot be asked, or cancels.
    func keyFromUser(attempt: Int) async throws -> ArchiveKey?

    /// Creates a key, stores the key durably and returns it, or returns the key that another process has just created.
    ///
    /// - Throws: An ``AccountError`` if the key cannot be stored, or if this source cannot create keys.
    func makeKey() async throws -> ArchiveKey

    /// Whether the user provides the key, including in ``makeKey()``. If so, AccountKit asks the user before it locks
    /// the archive.
    ///
    /// The default is `true` only for a passphrase.
    var isInteractive: Bool { get }
}

extension KeySource {
    /// Returns `nil`: by default, the user does not have the key.
    public func keyFromUser(attempt: Int) async throws -> ArchiveKey? { nil }

    /// Returns `true` only for a passphrase.
    public var isInteractive: Bool { kind == .passphrase }
}

/// A key, or a passphrase from which a key is derived. Descriptions do not contain the key or the passphrase; see
/// ``Secret``.
public struct ArchiveKey: Sendable {
    package let opener: KeySlot.Opener

    let cost: PassphraseCost

    /// Creates a key from exactly 32 bytes.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for any other length.
    public init(bytes: some Collection<UInt8>) throws(AccountError) {
        guard bytes.count == 32 else {
            throw AccountError(.invalidArgument, "a key has 32 bytes, but this one has \(bytes.count)")
        }
        self.init(guarded: GuardedBytes(copying: bytes))
    }

    /// Creates a key from text: 64 hexadecimal digits, or Base64 of 32 bytes (RFC 4648, sections 4 and 5), with or
    /// without padding. White space around the text is ignored.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for anything else.
    public init(text: Secret) throws(AccountError) {
        guard let bytes = text.trimmed.withUnsafeBytes(GuardedBytes.key(fromText:)) else {
            throw AccountError(
                .invalidArgument,
                "this is not a key: a key is 32 random bytes as Base64 or in hexadecimal, such as `openssl rand -base64 32` "
                    + "prints")
        }
        self.init(guarded: bytes)
    }

    /// Creates a key from a passphrase with Argon2id.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for an empty passphrase.
    public init(passphrase: Secret) throws(AccountError) {
        try self.init(passphrase: passphrase, cost: .moderate)
    }

    init(passphrase: Secret, cost: PassphraseCost) throws(AccountError) {
        guard passphrase.byteCount > 0 else { throw AccountError(.invalidArgument, "the passphrase is empty") }
        opener = .passphrase(passphrase.withUnsafeBytes { GuardedBytes(copying: $0) })
        self.cost = cost
    }

    /// Creates a key without copying its bytes.
    init(guarded bytes: GuardedBytes) {
        precondition(bytes.count == 32, "a key has 32 bytes")
        opener = .key(bytes)
        cost = .moderate
    }

    static func random() -> ArchiveKey { ArchiveKey(guarded: .random(count: 32)) }
}

extension ArchiveKey: CustomStringConvertible, CustomReflectable {
    /// The text `(key)` for every key.
    public var description: String { "(key)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
