import AccountKit
import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Proves to the token endpoint that whoever brings the code is who asked for it (RFC 7636).
struct PKCE: Sendable {
    /// What only the token endpoint is told.
    let verifier: Secret

    /// The hash of the verifier, which may be seen by anyone. The method is `S256`.
    let challenge: String

    /// The key with a given verifier.
    init(verifier: Secret) {
        self.verifier = verifier
        let hash = verifier.withUnsafeBytes { Sodium.sha256($0) }
        challenge = Base64URL.encoded(hash)
    }

    /// A new key of 256 random bits (RFC 7636, section 4.1).
    static func random() -> PKCE {
        PKCE(verifier: Secret(Base64URL.random()))
    }
}

/// Base64 with the alphabet of RFC 4648, section 5, and without padding.
enum Base64URL {
    /// The text for `bytes`.
    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The text for 32 random bytes: 43 characters that nobody guesses.
    static func random() -> String {
        // The system's own generator, on all platforms.
        var generator = SystemRandomNumberGenerator()
        return encoded((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
