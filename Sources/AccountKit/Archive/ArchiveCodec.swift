import AccountCrypto

/// Encrypts and decrypts accounts for one context.
struct ArchiveCodec: Sendable {
    let context: SealingContext

    /// Returns the bytes of an archive.
    ///
    /// - Parameter limit: The maximum size of the archive in bytes.
    /// - Returns: The bytes, and the account with all of its tokens in one piece of guarded memory.
    /// - Throws: ``AccountError/Code-swift.struct/tooLarge`` if the account does not fit.
    func seal(
        _ account: Account, generation: UInt64 = 1, with keys: ArchiveKeys,
        limit: Int = ArchivePropertyList.maximumByteCount
    ) throws(AccountError) -> (bytes: [UInt8], account: Account) {
        let (plaintext, account) = try AccountPlaintext.encode(account)
        let bytes = ArchivePropertyList.encode(
            sealed: Envelope.seal(plaintext, generation: generation, keys: keys, context: context))
        guard bytes.count <= limit else {
            throw AccountError(
                .tooLarge,
                "the account takes \(bytes.count) bytes, and there is room for \(limit): keep large profile fields elsewhere"
            )
        }
        return (bytes, account)
    }

    /// Returns the structure of an archive without decrypting it.
    func envelope(in bytes: [UInt8]) throws(AccountError) -> Envelope {
        do {
            return try Envelope(parsing: try ArchivePropertyList.decode(bytes))
        } catch {
            throw AccountError(error, isShared: context.isBoundToPlace)
        }
    }

    /// Whether the structure of an archive is damaged, so that no key opens it.
    func isDamaged(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try envelope(in: bytes)
            return false
        } catch {
            return error.code == .damaged
        }
    }

    func open(_ envelope: Envelope, with keys: ArchiveKeys) throws(AccountError) -> Account {
        let opened: (plaintext: GuardedBytes, count: Int)
        do {
            opened = try envelope.open(with: keys, context: context)
        } catch {
            throw AccountError(error, isShared: context.isBoundToPlace)
        }
        return try AccountPlaintext.decode(opened.plaintext, count: opened.count)
    }
}
