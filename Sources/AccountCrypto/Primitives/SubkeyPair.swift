import CSodium

/// Two keys that are derived from one key: the first encrypts, and the second commits to the ciphertext and its key.
///
/// ChaCha20-Poly1305 alone does not bind a ciphertext to one key: an attacker who chooses the keys can create a
/// ciphertext that opens with several keys. AccountKit therefore checks the commitment before it decrypts. Sources:
/// libsodium, "Authenticated encryption with additional data", "Robustness"; Len, Grubbs, Ristenpart, "Partitioning
/// Oracle Attacks" (2021).
struct SubkeyPair {
    /// The purpose of a derived pair, which is the personalization of the hash, padded with zeros to 16 bytes.
    enum Purpose: String {
        case slot = "acct.v1.slot"
        case file = "acct.v1.file"

        /// A pair that is used without a commitment: see ``RowSeal``.
        case rows = "acct.v1.rows"
    }

    static let tagLength = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

    /// The keys: 32 bytes for encryption, followed by 32 bytes for the commitment.
    private let bytes: GuardedBytes

    init(bytes: [UInt8]) {
        precondition(bytes.count == 64)
        self.bytes = GuardedBytes(copying: bytes)
    }

    init(key: GuardedBytes, message: [UInt8], purpose: Purpose) {
        bytes = Self.derive(from: key, message: message, purpose: purpose)
    }

    /// Derives 64 bytes with `crypto_generichash_blake2b_salt_personal`, with a key but without a salt.
    static func derive(from key: GuardedBytes, message: [UInt8], purpose: Purpose) -> GuardedBytes {
        let personal = Array(purpose.rawValue.utf8) + [UInt8](repeating: 0, count: 16 - purpose.rawValue.utf8.count)
        return GuardedBytes(count: 64) { derived in
            key.withUnsafeBytes { key in
                _ = crypto_generichash_blake2b_salt_personal(
                    derived.baseAddress!, derived.count, message, UInt64(message.count),
                    key.baseAddress, key.count, nil, personal)
            }
        }
    }

    /// Returns the BLAKE2b-256 hash of `message` with the second key.
    func commitment(to message: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { keys in
            [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
                crypto_generichash_blake2b(
                    buffer.baseAddress!, 32, message, UInt64(message.count), keys.baseAddress! + 32, 32)
                filled = 32
            }
        }
    }

    func encrypt(_ plaintext: GuardedBytes, nonce: [UInt8], additionalData: [UInt8]) -> [UInt8] {
        let count = plaintext.count + Self.tagLength
        return bytes.withUnsafeBytes { keys in
            plaintext.withUnsafeBytes { plaintext in
                [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                    crypto_aead_xchacha20poly1305_ietf_encrypt(
                        buffer.baseAddress!, nil, plaintext.baseAddress, UInt64(plaintext.count),
                        additionalData, UInt64(additionalData.count), nil, nonce, keys.baseAddress!)
                    filled = count
                }
            }
        }
    }

    /// Decrypts directly into guarded memory. Returns `nil` if the ciphertext has another key or other additional data.
    func decrypt(_ ciphertext: ArraySlice<UInt8>, nonce: [UInt8], additionalData: [UInt8]) -> GuardedBytes? {
        struct NotAuthentic: Error {}
        let count = ciphertext.count - Self.tagLength
        guard count >= 0 else { return nil }
        return try? GuardedBytes(count: count) { plaintext throws(NotAuthentic) in
            let status = bytes.withUnsafeBytes { keys in
                ciphertext.withUnsafeBufferPointer { ciphertext in
                    crypto_aead_xchacha20poly1305_ietf_decrypt(
                        plaintext.baseAddress, nil, nil, ciphertext.baseAddress!, UInt64(ciphertext.count),
                        additionalData, UInt64(additionalData.count), nonce, keys.baseAddress!)
                }
            }
            guard status == 0 else { throw NotAuthentic() }
        }
    }
}
