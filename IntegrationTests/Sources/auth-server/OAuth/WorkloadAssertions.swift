import CServerSodium
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Checks the assertions of workloads, which a test signs with HS256.
///
/// Source: RFC 7523, section 3; RFC 7518, section 3.2.
final class WorkloadAssertions: Sendable {
    static let subjectTokenType = "urn:ietf:params:oauth:token-type:jwt"

    private let key: String

    /// The identifiers of the accepted assertions, which are single-use.
    private let used = Mutex<Set<String>>([])

    init(key: String) { self.key = key }

    /// Checks an assertion.
    ///
    /// - Parameters:
    ///   - audience: The required value of `aud`.
    ///   - code: The error if the assertion is not valid.
    /// - Returns: The subject.
    func subject(of assertion: String, audience: String, at date: Date, or code: OAuthError.Code) throws -> String {
        func refusal(_ text: String) -> OAuthError { OAuthError(code, "the assertion \(text)") }
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, Self.object(parts[0])?["alg"] == "HS256", let claims = Self.object(parts[1]) else {
            throw refusal("is malformed")
        }
        guard signature(of: "\(parts[0]).\(parts[1])") == parts[2] else { throw refusal("has an invalid signature") }
        guard claims["aud"] == .string(audience) else { throw refusal("is for another audience") }
        guard case .integer(let expiry)? = claims["exp"], Double(expiry) > date.timeIntervalSince1970 else {
            throw refusal("has expired")
        }
        guard case .string(let subject)? = claims["sub"] else { throw refusal("has no subject") }
        guard case .string(let id)? = claims["jti"], used.withLock({ $0.insert(id).inserted }) else {
            throw refusal("was used before, or has no jti")
        }
        return subject
    }

    private func signature(of message: String) -> String {
        var state = crypto_auth_hmacsha256_state()
        let (key, message) = (Array(key.utf8), Array(message.utf8))
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &code)
        return code.base64URL
    }

    private static func object(_ part: Substring) -> JSONObject? {
        let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let bytes = Data(base64Encoded: base64 + padding),
            case .object(let members)? = try? JSONDecoder().decode(JSONValue.self, from: bytes)
        else { return nil }
        return members
    }
}
