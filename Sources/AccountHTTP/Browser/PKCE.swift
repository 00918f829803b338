import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Proves to the token endpoint that the sender of the code has made the authorization request (RFC 7636).
struct PKCE: Sendable {
    let verifier: Secret

    /// The hash of the verifier, for the method `S256`. It is not secret.
    let challenge: String

    init(verifier: Secret) {
        self.verifier = verifier
        let hash = verifier.withUnsafeBytes { Sodium.sha256($0) }
        challenge = Base64URL.encoded(hash)
    }

    /// 256 random bits (RFC 7636, section 4.1).
    static func random() -> PKCE {
        PKCE(verifier: Secret(Base64URL.random()))
    }
}

extension Sequence<UInt8> {
    var base64: String { Data(self).base64EncodedString() }
}

/// Base64 with the alphabet of RFC 4648, section 5, and without padding.
enum Base64URL {
    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        bytes.base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// 43 characters for 32 random bytes.
    static func random() -> String {
        encoded((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }
}
