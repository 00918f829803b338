import AccountCrypto

/// Encrypts and decrypts accounts and other payloads.
extension SealingContext {
    /// Encrypts a payload. Returns an archive of at most `limit` bytes, and the payload with all secrets in one piece
    /// of guarded memory.
    func seal<Payload: SealedPayload>(
        _ payload: Payload, generation: UInt64 = 1, with keys: ArchiveKeys,
        limit: Int = ArchivePropertyList.maximumByteCount
    ) throws(AccountError) -> (bytes: [UInt8], payload: Payload) {
        let (plaintext, payload) = try SealedPlaintext.encode(payload)
        let bytes = ArchivePropertyList.encode(
            sealed: Envelope.seal(plaintext, generation: generation, keys: keys, context: self))
        guard bytes.count <= limit else {
            throw AccountError(
                .tooLarge,
                "the account has \(bytes.count) bytes, more than the maximum of \(limit): store large profile fields elsewhere"
            )
        }
        return (bytes, payload)
    }

    func envelope(in bytes: [UInt8]) throws(AccountError) -> Envelope {
        do {
            return try Envelope(parsing: try ArchivePropertyList.decode(bytes))
        } catch {
            throw AccountError(error, isShared: isBoundToPlace)
        }
    }

    /// Returns whether the structure of an archive is damaged, so that no key opens it.
    func isDamaged(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try envelope(in: bytes)
            return false
        } catch {
            return error.code == .damaged
        }
    }

    func open<Payload: SealedPayload>(
        _ envelope: Envelope, with keys: ArchiveKeys
    ) throws(AccountError) -> Payload {
        let opened: (plaintext: GuardedBytes, count: Int)
        do {
            opened = try envelope.open(with: keys, context: self)
        } catch {
            throw AccountError(error, isShared: isBoundToPlace)
        }
        return try SealedPlaintext.decode(opened.plaintext, count: opened.count)
    }
}
