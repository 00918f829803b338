package import AccountCrypto

/// A key, or a passphrase from which a key is derived. Descriptions do not contain the key or the passphrase; see
/// ``Secret``.
package struct ArchiveKey: Sendable {
    package let opener: KeySlot.Opener

    let cost: PassphraseCost

    /// Creates a key from exactly 32 bytes.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for any other length.
    package init(bytes: some Collection<UInt8>) throws(AccountError) {
        guard bytes.count == 32 else {
            throw AccountError(.invalidArgument, "a key has 32 bytes, but this one has \(bytes.count)")
        }
        self.init(guarded: GuardedBytes(copying: bytes))
    }

    /// Creates a key from text: 64 hexadecimal digits, or Base64 of 32 bytes (RFC 4648, sections 4 and 5), with or
    /// without padding. White space around the text is ignored.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` for anything else.
    init(text: Secret) throws(AccountError) {
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
    package init(passphrase: Secret, cost: PassphraseCost = .moderate) throws(AccountError) {
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
    package var description: String { "(key)" }

    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
