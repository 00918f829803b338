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
                let payload = Self.decodedBase64URL(parts[1])
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

    /// Decodes Base64URL without padding (RFC 4648, section 5; RFC 7515, section 2).
    private static func decodedBase64URL(_ text: Slice<UnsafeRawBufferPointer>) -> Data? {
        var base64 = Data(capacity: text.count + 3)
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): base64.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): base64.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: base64.append(byte)
            }
        }
        base64.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4))
        return Data(base64Encoded: base64)
    }
}
