package import AccountSupport

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The claims of a JSON Web Token (RFC 7519), without a check of its signature.
///
/// The claims are hints, unless the token came directly from the token endpoint over TLS. Then OpenID Connect accepts TLS instead of the
/// signature (OpenID Connect Core, section 3.1.3.7, number 6).
package struct JSONWebToken: Sendable {
    /// The claims (RFC 7519, section 4).
    package let claims: JSONObject

    /// The maximum length of the payload, in characters of Base64URL.
    private static let payloadLimit = 1 << 16

    /// Reads a token; `nil` if it does not have the compact form with three parts (RFC 7515, section 3.1), or if its payload is not a JSON
    /// object or exceeds 64 KiB.
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

    /// When the token expires (`exp`; RFC 7519, section 4.1.4); `nil` if there is no such claim.
    package var expiresAt: Date? { date("exp") }

    /// When the token was issued (`iat`; RFC 7519, section 4.1.6); `nil` if there is no such claim.
    package var issuedAt: Date? { date("iat") }

    /// Returns a date in seconds since 1970 (RFC 7519, section 2, "NumericDate"). A date before 1970 or after the year 9999 is a mistake,
    /// such as milliseconds.
    private func date(_ claim: String) -> Date? {
        guard let seconds = claims[claim]?.number, 0..<253_402_300_800 ~= seconds else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }
}
