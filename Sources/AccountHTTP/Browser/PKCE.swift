import AccountKit
import AccountCrypto
import AccountSupport

/// Proves to the token endpoint that the sender of the code also sent the authorization request (RFC 7636).
struct PKCE: Sendable {
    let verifier: Secret

    /// The hash of the verifier for the method `S256`, which is not secret.
    let challenge: String

    init(verifier: Secret) {
        self.verifier = verifier
        let hash = verifier.withUnsafeBytes { Sodium.sha256($0) }
        challenge = Base64URL.encode(hash)
    }

    /// Creates a verifier of 256 random bits (RFC 7636, section 4.1).
    static func random() -> PKCE {
        PKCE(verifier: Secret(Base64URL.random()))
    }
}
