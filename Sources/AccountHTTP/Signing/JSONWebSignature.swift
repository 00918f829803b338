#if Signatures
import AccountSupport

/// A signed JSON Web Token (RFC 7515, section 7.1; RFC 7519).
enum JSONWebSignature {
    /// Returns the compact serialization of a token.
    ///
    /// - Parameters:
    ///   - header: The header parameters besides `alg`.
    ///   - claims: The claims in the payload.
    ///   - key: The key, which determines `alg`.
    static func sign(
        header: [(name: String, value: JSONText)], claims: [(name: String, value: JSONText)], with key: SigningKey
    ) throws -> String {
        let header = JSONText(members: [("alg", JSONText(string: key.algorithm))] + header)
        let message = [header, JSONText(members: claims)].map { Base64URL.encode($0.bytes) }.joined(separator: ".")
        return "\(message).\(Base64URL.encode(try key.signature(for: Data(message.utf8))))"
    }
}
#endif
