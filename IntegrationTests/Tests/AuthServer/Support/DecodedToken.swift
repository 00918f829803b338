import CServerSodium

@testable import auth_server

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parts of a signed token.
struct DecodedToken {
    let header: JSONObject
    let claims: JSONObject
    private let input: String
    private let signature: Data

    init(_ text: String) throws {
        let parts = text.split(separator: ".").map(String.init)
        guard parts.count == 3 else { throw API.Missing(description: "no signed token: \(text)") }
        header = try JSONDecoder().decode(JSONObject.self, from: Self.bytes(parts[0]))
        claims = try JSONDecoder().decode(JSONObject.self, from: Self.bytes(parts[1]))
        input = parts[0] + "." + parts[1]
        signature = try Self.bytes(parts[2])
    }

    /// Whether the token was signed with one of the keys of a `jwks_uri`.
    func isSigned(with keys: JSONObject) throws -> Bool {
        guard case .array(let all) = keys["keys"] else { return false }
        for case .object(let key) in all where key["kid"] == header["kid"] {
            guard case .string(let x) = key["x"], signature.count == 64 else { continue }
            let publicKey = Array(try Self.bytes(x))
            guard publicKey.count == 32 else { continue }
            let (signature, input) = (Array(signature), Array(input.utf8))
            return crypto_sign_verify_detached(signature, input, UInt64(input.count), publicKey) == 0
        }
        return false
    }

    private static func bytes(_ text: String) throws -> Data {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.count % 4) % 4)
        guard let bytes = Data(base64Encoded: plain + padding) else {
            throw API.Missing(description: "not base64url: \(text)")
        }
        return bytes
    }
}
