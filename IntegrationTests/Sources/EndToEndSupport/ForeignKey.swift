import Crypto
import Foundation

/// A key to which the tokens of a session are not bound. Its proofs (RFC 9449, section 4.2) are otherwise valid.
struct ForeignKey: Sendable {
    private let key = P256.Signing.PrivateKey()

    /// A proof for one request.
    ///
    /// - Parameter token: The access token in the request, if any.
    func proof(_ method: String, _ url: String, for token: String? = nil) throws -> String {
        let point = key.publicKey.rawRepresentation
        let header: [String: JSON] = [
            "typ": .text("dpop+jwt"), "alg": .text("ES256"),
            "jwk": .object([
                "kty": .text("EC"), "crv": .text("P-256"), "x": .text(Self.base64URL(point.prefix(32))),
                "y": .text(Self.base64URL(point.suffix(32))),
            ]),
        ]
        var claims: [String: JSON] = [
            "jti": .text(UUID().uuidString), "htm": .text(method), "htu": .text(url),
            "iat": .integer(Int(Date.now.timeIntervalSince1970)),
        ]
        claims["ath"] = token.map { .text(Self.base64URL(Data(SHA256.hash(data: Data($0.utf8))))) }
        let encoder = JSONEncoder()
        let input = try Self.base64URL(encoder.encode(header)) + "." + Self.base64URL(encoder.encode(claims))
        return input + "." + Self.base64URL(try key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
