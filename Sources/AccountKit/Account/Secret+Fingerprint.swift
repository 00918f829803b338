import AccountCrypto
import AccountSupport

extension Secret {
    /// The SHA-256 hash in hexadecimal, to recognize a token later. Do not use it for a password, which could be
    /// guessed from the hash.
    package var fingerprint: String { withUnsafeBytes { Sodium.sha256($0).hexadecimal } }
}
