import CServerSodium

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key that signs ID tokens. Clients find its public half at `jwks_uri`.
///
/// Source: RFC 8037, section 3.1 (EdDSA with Ed25519); libsodium, "Public-key signatures".
struct SigningKey: Sendable, Equatable {
    private let seed: [UInt8]
    private let publicBytes: [UInt8]
    private let secretBytes: [UInt8]

    /// Makes a new key.
    init() {
        self.init(seed: (0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }

    private init(seed: [UInt8]) {
        var publicBytes = [UInt8](repeating: 0, count: 32)
        var secretBytes = [UInt8](repeating: 0, count: 64)
        crypto_sign_seed_keypair(&publicBytes, &secretBytes, seed)
        self.seed = seed
        self.publicBytes = publicBytes
        self.secretBytes = secretBytes
    }

    /// Returns the claims as a signed token.
    ///
    /// Source: RFC 7519; RFC 7515, section 7.1 (compact serialization).
    func sign(_ claims: JSONObject) throws -> String {
        let header: JSONObject = ["alg": "EdDSA", "typ": "JWT", "kid": .string(id)]
        let input = try Self.encoder.encode(header).base64URL + "." + Self.encoder.encode(claims).base64URL
        var signature = [UInt8](repeating: 0, count: 64)
        crypto_sign_detached(&signature, nil, Array(input.utf8), UInt64(input.utf8.count), secretBytes)
        return input + "." + signature.base64URL
    }

    /// The public half.
    ///
    /// Source: RFC 7517, section 4; RFC 8037, section 2.
    var publicKey: JSONObject {
        [
            "kty": "OKP", "crv": "Ed25519", "x": .string(publicBytes.base64URL), "alg": "EdDSA", "use": "sig",
            "kid": .string(id),
        ]
    }

    /// The key's identifier, which is its thumbprint.
    ///
    /// Source: RFC 7638, section 3; RFC 8037, appendix A.3.
    private var id: String {
        SHA256.hash(#"{"crv":"Ed25519","kty":"OKP","x":"\#(publicBytes.base64URL)"}"#).base64URL
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension SigningKey: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let seed = Array(try container.decode(Data.self))
        guard seed.count == 32 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a key has 32 bytes")
        }
        self.init(seed: seed)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(seed))
    }
}
