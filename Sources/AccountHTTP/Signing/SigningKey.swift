#if Signatures
import AccountKit
import AccountSupport
import Crypto
import CryptoExtras

/// A private key that signs JSON Web Signatures (RFC 7515).
enum SigningKey: Sendable {
    /// ECDSA on the curve P-256 with SHA-256 (RFC 7518, section 3.4).
    case p256(P256.Signing.PrivateKey)

    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3).
    case rsa(_RSA.Signing.PrivateKey)

    /// EdDSA on the curve Ed25519 (RFC 8037, section 3.1).
    case ed25519(Curve25519.Signing.PrivateKey)

    /// The `alg` header parameter (RFC 7518, section 3.1).
    var algorithm: String {
        switch self {
        case .p256: "ES256"
        case .rsa: "RS256"
        case .ed25519: "EdDSA"
        }
    }

    /// The required members of the public key as a JSON Web Key, in alphabetical order (RFC 7638, section 3.2; RFC 8037,
    /// section 2).
    var publicKey: [(name: String, value: String)] {
        get throws {
            switch self {
            case .p256(let key):
                let point = key.publicKey.rawRepresentation
                return [
                    ("crv", "P-256"), ("kty", "EC"), ("x", Base64URL.encode(point.prefix(32))),
                    ("y", Base64URL.encode(point.suffix(32))),
                ]
            case .rsa(let key):
                let primitives = try key.publicKey.getKeyPrimitives()
                return [
                    ("e", Base64URL.encode(primitives.publicExponent)), ("kty", "RSA"),
                    ("n", Base64URL.encode(primitives.modulus)),
                ]
            case .ed25519(let key):
                return [
                    ("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64URL.encode(key.publicKey.rawRepresentation)),
                ]
            }
        }
    }

    /// Signs `data`. The signature has the format of RFC 7518, section 3.
    func signature(for data: Data) throws -> Data {
        switch self {
        case .p256(let key): try key.signature(for: data).rawRepresentation
        case .rsa(let key): try key.signature(for: data, padding: .insecurePKCS1v1_5).rawRepresentation
        case .ed25519(let key): try key.signature(for: data)
        }
    }

    /// Returns the compact serialization of a signed token (RFC 7515, section 7.1; RFC 7519).
    ///
    /// - Parameter header: The header parameters besides `alg`.
    func token(header: [(name: String, value: JSONText)], claims: [(name: String, value: JSONText)]) throws -> String {
        let header = JSONText(members: [("alg", JSONText(string: algorithm))] + header)
        let message = [header, JSONText(members: claims)].map { Base64URL.encode($0.bytes) }.joined(separator: ".")
        return "\(message).\(Base64URL.encode(try signature(for: Data(message.utf8))))"
    }
}
#endif
