#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// What a JSON Web Token says, without verifying it (RFC 7519).
///
/// So it is a hint, unless the token came straight from the token endpoint over TLS, where OpenID Connect lets TLS stand
/// for the signature (OpenID Connect Core, section 3.1.3.7, number 6).
package struct JSONWebToken: Sendable {
    /// RFC 7519, section 4.
    package let claims: JSONObject

    /// In characters of base64url.
    private static let payloadLimit = 1 << 16

    /// `nil` if the token is not of the compact form with three parts (RFC 7515, section 3.1), or its payload is no JSON object
    /// or longer than 64 KiB.
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

    /// From when on nobody must accept the token (`exp`; RFC 7519, section 4.1.4); `nil` if it does not say so.
    package var expiresAt: Date? { date("exp") }

    /// When the token was issued (`iat`; RFC 7519, section 4.1.6); `nil` if it does not say so.
    package var issuedAt: Date? { date("iat") }

    /// Seconds since 1970, whole or not (RFC 7519, section 2, "NumericDate"). Before 1970 or beyond the year 9999 it is a
    /// mistake, such as milliseconds.
    private func date(_ claim: String) -> Date? {
        guard let seconds = claims[claim]?.number, 0..<253_402_300_800 ~= seconds else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }

    /// The alphabet of RFC 4648, section 5, without padding (RFC 7515, section 2).
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
