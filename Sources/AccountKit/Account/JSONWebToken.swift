package import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The claims of a JSON Web Token (RFC 7519), without a check of its signature. They are hints, unless the token came
/// directly from the token endpoint over TLS, which OpenID Connect accepts instead of the signature (OpenID Connect
/// Core, section 3.1.3.7, number 6).
package struct JSONWebToken: Sendable {
    package let claims: JSONObject

    private static let payloadLimit = 1 << 16

    /// `nil` unless there are three parts (RFC 7515, section 3.1) and a JSON object of at most 64 KiB in Base64URL.
    package init?(_ token: Secret) {
        let claims = token.withUnsafeBytes { bytes -> JSONObject? in
            let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 3, !parts[0].isEmpty, 1...Self.payloadLimit ~= parts[1].count,
                let payload = Base64URL.decode(parts[1])
            else { return nil }
            return JSONValue.object(from: payload)
        }
        guard let claims else { return nil }
        self.claims = claims
    }

    /// The `exp` claim (RFC 7519, section 4.1.4).
    package var expiresAt: Date? { date("exp") }

    /// The `iat` claim (RFC 7519, section 4.1.6).
    package var issuedAt: Date? { date("iat") }

    /// Seconds since 1970 (RFC 7519, section 2). A date before 1970 or after 9999 is a mistake, such as milliseconds.
    private func date(_ claim: String) -> Date? {
        guard let seconds = claims[claim]?.number, 0..<253_402_300_800 ~= seconds else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }
}
