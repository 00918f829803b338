import CServerSodium

/// SHA-256 (FIPS 180-4), implemented by libsodium.
enum SHA256 {
    /// The 32-byte hash of a string.
    static func hash(_ text: String) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&hash, Array(text.utf8), UInt64(text.utf8.count))
        return hash
    }
}
