import CServerSodium
import Crypto
import CryptoExtras
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Checks the assertions with which the client authenticates (`private_key_jwt`).
///
/// Source: RFC 7523, sections 2.2 and 3; OpenID Connect Core 1.0, section 9.
final class ClientAssertions: Sendable {
    static let method = "private_key_jwt"
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// The PEM file with the client's public key. The server reads it for each assertion.
    private let path: String

    /// The identifiers of the accepted assertions, which are single-use.
    private let used = Mutex<Set<String>>([])

    init(path: String) { self.path = path }

    /// Checks an assertion.
    ///
    /// - Parameters:
    ///   - audiences: The accepted values of `aud`.
    /// - Throws: `OAuthError` with the reason.
    func check(_ assertion: String, of client: String, for audiences: [String], at date: Date) throws {
        func refusal(_ text: String) -> OAuthError { OAuthError(.invalidClient, text) }
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Data(base64URL: parts[2])
        else { throw refusal("the assertion is malformed") }
        let message = Data("\(parts[0]).\(parts[1])".utf8)
        guard try isValid(signature, of: message, by: header["alg"]) else {
            throw refusal("the signature of the assertion is invalid")
        }
        guard claims["iss"] == .string(client), claims["sub"] == .string(client) else {
            throw refusal("the assertion is not about this client")
        }
        guard audiences.contains(where: { claims["aud"] == .string($0) }) else {
            throw refusal("the assertion is for another audience")
        }
        guard case .integer(let expiry)? = claims["exp"], case .integer(let start)? = claims["iat"],
            Double(expiry) > date.timeIntervalSince1970, Double(start) < date.timeIntervalSince1970 + 60,
            expiry - start <= 300
        else { throw refusal("the assertion has expired, or its lifetime is too long") }
        guard case .string(let id)? = claims["jti"], used.withLock({ $0.insert(id).inserted }) else {
            throw refusal("the assertion was used before, or has no jti")
        }
    }

    private func isValid(_ signature: Data, of message: Data, by algorithm: JSONValue?) throws -> Bool {
        let pem = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        switch algorithm {
        case "ES256":
            // A key of another kind verifies no signature.
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: message)
        case "RS256":
            guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else { return false }
            return key.isValidSignature(
                .init(rawRepresentation: signature), for: message, padding: .insecurePKCS1v1_5)
        case "EdDSA":
            let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            // The key is the end of a SubjectPublicKeyInfo (RFC 8410, section 4).
            guard let info = Data(base64Encoded: base64), info.count == 44, signature.count == 64 else { return false }
            return crypto_sign_verify_detached(
                Array(signature), Array(message), UInt64(message.count), Array(info.suffix(32))) == 0
        default: return false
        }
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = Data(base64URL: part),
            case .object(let members) = try? JSONDecoder().decode(
                JSONValue.self, from: bytes)
        else { return nil }
        return members
    }
}

extension Data {
    /// Decodes Base64URL without padding (RFC 4648, section 5).
    init?(base64URL text: Substring) {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        self.init(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4))
    }
}
