import Crypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key with which the server signs ID tokens; clients find its public half at `jwks_uri`.
///
/// Source: RFC 7518, section 3.4 (ES256: ECDSA on P-256 with SHA-256).
struct SigningKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Makes a new key.
    init() {
        key = P256.Signing.PrivateKey()
    }

    /// The claims as a signed token.
    ///
    /// Source: RFC 7519; RFC 7515, section 7.1 (compact serialization).
    func sign(_ claims: JSONObject) throws -> String {
        let header: JSONObject = ["alg": "ES256", "typ": "JWT", "kid": .string(id)]
        let input = try Self.encoder.encode(header).base64URL + "." + Self.encoder.encode(claims).base64URL
        return input + "." + (try key.signature(for: Data(input.utf8)).rawRepresentation.base64URL)
    }

    /// The public half.
    ///
    /// Source: RFC 7517, section 4; RFC 7518, section 6.2.1.
    var publicKey: JSONObject {
        coordinates.merging(["alg": "ES256", "use": "sig", "kid": .string(id)]) { _, new in new }
    }

    /// The name of the key, which follows from the key itself: its thumbprint.
    ///
    /// Source: RFC 7638, section 3.
    private var id: String {
        let members = ["crv", "kty", "x", "y"].compactMap { name -> String? in
            guard case .string(let value) = coordinates[name] else { return nil }
            return #""\#(name)":"\#(value)""#
        }
        return SHA256.hash(data: Data("{\(members.joined(separator: ","))}".utf8)).base64URL
    }

    private var coordinates: JSONObject {
        let point = key.publicKey.rawRepresentation
        return [
            "kty": "EC",
            "crv": "P-256",
            "x": .string(point.prefix(32).base64URL),
            "y": .string(point.suffix(32).base64URL),
        ]
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension SigningKey: Equatable {
    static func == (left: SigningKey, right: SigningKey) -> Bool {
        left.key.rawRepresentation == right.key.rawRepresentation
    }
}

extension SigningKey: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        key = try P256.Signing.PrivateKey(rawRepresentation: container.decode(Data.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(key.rawRepresentation)
    }
}
