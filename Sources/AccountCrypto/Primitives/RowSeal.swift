import CSodium

/// Encrypts many small items with one key: database rows, documents, and chunks of blobs. Each item opens only with its
/// type and ID. Unlike an ``Envelope``, an encrypted item has no commitment to the key, because an attacker cannot
/// choose the key.
///
/// A sealed row consists of a nonce of 24 bytes, the padded row (`sodium_pad`) encrypted with XChaCha20-Poly1305-IETF,
/// and the tag. The additional data is `lp("AccountKit/row/1") ‖ lp(owner) ‖ lp(type) ‖ keyed id`, where `lp(x)` is the
/// length of x as u32, followed by x.
package struct RowSeal: Sendable {
    package static let paddingBlock = 64

    private static let nonceLength = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    private static let tagLength = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

    /// The keys: 32 bytes for encryption, followed by 32 bytes for the hashes of IDs.
    private let keys: GuardedBytes
    private let prefix: [UInt8]

    /// Creates a seal from a key of 32 random bytes. The owner is, for example, the issuer and the account's ID.
    package init(key: GuardedBytes, owner: [String]) {
        precondition(key.count == 32)
        var bytes: [UInt8] = []
        for part in owner { bytes.append(lengthPrefixed: Array(part.utf8)) }
        var prefix: [UInt8] = []
        prefix.append(lengthPrefixed: "AccountKit/row/1".utf8)
        prefix.append(lengthPrefixed: bytes)
        self.prefix = prefix
        keys = SubkeyPair.derive(from: key, message: bytes, purpose: .rows)
    }

    package static func sealedByteCount(of count: Int) -> Int {
        nonceLength + (count / paddingBlock + 1) * paddingBlock + tagLength
    }

    /// Returns the keyed hash (BLAKE2b-128) that a database stores instead of an ID.
    package func keyedID(_ id: some Collection<UInt8>, type: String) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(type.utf8.count + id.count + 8)
        message.append(lengthPrefixed: type.utf8)
        message.append(lengthPrefixed: id)
        return keys.withUnsafeBytes { keys in
            [UInt8](unsafeUninitializedCapacity: 16) { buffer, filled in
                crypto_generichash_blake2b(
                    buffer.baseAddress!, 16, message, UInt64(message.count), keys.baseAddress! + 32, 32)
                filled = 16
            }
        }
    }

    /// - Parameter id: The row's ``keyedID(_:type:)``, or any other bytes that identify the row.
    package func seal(_ plaintext: some Collection<UInt8>, type: String, id: [UInt8]) -> [UInt8] {
        let count = plaintext.count
        let paddedCount = (count / Self.paddingBlock + 1) * Self.paddingBlock
        let additionalData = additionalData(type: type, id: id)
        return [UInt8](unsafeUninitializedCapacity: Self.nonceLength + paddedCount + Self.tagLength) { buffer, filled in
            let start = buffer.baseAddress!
            randombytes_buf(start, Self.nonceLength)
            // Encrypt in place, so that no copy of the plaintext remains.
            let text = start + Self.nonceLength
            _ = UnsafeMutableBufferPointer(start: text, count: count).initialize(fromContentsOf: plaintext)
            (text + count).initialize(repeating: 0, count: paddedCount - count)
            let status = sodium_pad(nil, text, count, Self.paddingBlock, paddedCount)
            precondition(status == 0, "the buffer is too short for its padding")
            keys.withUnsafeBytes { keys in
                _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
                    text, nil, text, UInt64(paddedCount), additionalData, UInt64(additionalData.count), nil, start,
                    keys.baseAddress!)
            }
            filled = Self.nonceLength + paddedCount + Self.tagLength
        }
    }

    /// - Returns: `nil` if the row was sealed with another identity, or was changed.
    package func open(
        _ sealed: some Collection<UInt8>, type: String, id: some Collection<UInt8>
    ) -> [UInt8]? {
        Self.withBytes(of: sealed) { sealed in
            Self.withBytes(of: id) { open(sealed, additionalData: additionalData(type: type, id: $0)) }
        }
    }

    private static func withBytes<Value>(
        of bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> Value {
        bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
    }

    private func open(_ sealed: UnsafeBufferPointer<UInt8>, additionalData: [UInt8]) -> [UInt8]? {
        let paddedCount = sealed.count - Self.nonceLength - Self.tagLength
        guard paddedCount > 0, paddedCount.isMultiple(of: Self.paddingBlock) else { return nil }
        var isAuthentic = false
        let plaintext = [UInt8](unsafeUninitializedCapacity: paddedCount) { buffer, filled in
            let status = keys.withUnsafeBytes { keys in
                crypto_aead_xchacha20poly1305_ietf_decrypt(
                    buffer.baseAddress!, nil, nil, sealed.baseAddress! + Self.nonceLength,
                    UInt64(paddedCount + Self.tagLength), additionalData, UInt64(additionalData.count),
                    sealed.baseAddress!, keys.baseAddress!)
            }
            guard status == 0, sodium_unpad(&filled, buffer.baseAddress!, paddedCount, Self.paddingBlock) == 0 else {
                filled = 0
                return
            }
            isAuthentic = true
        }
        return isAuthentic ? plaintext : nil
    }

    private func additionalData(type: String, id: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefix.count + type.utf8.count + id.count + 4)
        bytes += prefix
        bytes.append(lengthPrefixed: type.utf8)
        bytes += id
        return bytes
    }
}
