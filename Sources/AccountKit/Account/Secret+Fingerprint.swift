import AccountCrypto
import AccountSupport

extension Secret {
    /// The SHA-256 hash in hexadecimal, to recognize a token later. A password could be guessed from it.
    package var fingerprint: String { withUnsafeBytes { Sodium.sha256($0).hexadecimal } }
}
