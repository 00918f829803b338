import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads what a JSON Web Token says, without verifying it (RFC 7519).
///
/// So it is a hint, unless the token came straight from the token endpoint over TLS, where OpenID Connect lets TLS stand
/// for the signature (OpenID Connect Core, section 3.1.3.7, number 6).
enum JSONWebToken {
    /// In characters of base64url.
    static let payloadLimit = 1 << 16

    static func claims(of token: Secret) -> JSONObject? {
        token.withUnsafeBytes { bytes in
            let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 3, !parts[0].isEmpty, 1...payloadLimit ~= parts[1].count,
                let payload = decodedBase64URL(parts[1])
            else { return nil }
            return JSONValue.object(from: payload)
        }
    }

    /// RFC 4648, section 5, without padding, as RFC 7515 has it.
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
