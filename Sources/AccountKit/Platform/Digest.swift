import Sealing

/// Hashes for the modules around the core, so that they need no cryptography of their own.
package enum Digest {
    /// SHA-256 (FIPS 180-4), 32 bytes.
    package static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Sodium.sha256(bytes)
    }

    /// Whether two texts are the same, in a time that depends on their lengths alone.
    package static func isEqual(_ left: String, _ right: String) -> Bool {
        Sodium.isEqual(left.utf8, right.utf8)
    }
}
