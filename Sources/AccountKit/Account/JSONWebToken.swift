package import AccountSupport

/// The claims of a JSON Web Token (RFC 7519), without a check of its signature. Treat the claims as hints, unless the
/// token came directly from the token endpoint over TLS. In that case OpenID Connect accepts TLS instead of a check of
/// the signature (OpenID Connect Core, section 3.1.3.7, number 6).
package struct JSONWebToken: Sendable {
    package let claims: JSONObject

    private static let payloadLimit = 1 << 16

    /// Reads the claims of a token. The result is `nil` unless the token has three parts (RFC 7515, section 3.1), and
    /// the second part is a JSON object in at most 64 KiB of Base64URL.
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

    /// The `aud` claim (RFC 7519, section 4.1.3): a list, one string, or the number of a client; empty if there is none.
    package var audiences: [String] { claims["aud"]?.list ?? [] }

    /// The `exp` claim (RFC 7519, section 4.1.4); `nil` if it is implausible.
    package var expiresAt: Date? { claims["exp"]?.date }

    /// The `iat` claim (RFC 7519, section 4.1.6); `nil` if it is implausible.
    package var issuedAt: Date? { claims["iat"]?.date }
}
