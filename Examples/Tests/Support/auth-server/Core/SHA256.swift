import CServerSodium

/// SHA-256 (FIPS 180-4), as libsodium has it.
enum SHA256 {
    /// The 32 bytes that a text has as its hash.
    static func hash(_ text: String) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&hash, Array(text.utf8), UInt64(text.utf8.count))
        return hash
    }
}
