#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A successful sign-in: its first tokens, and the data for an ID token.
struct SignIn: Equatable, Sendable {
    let tokens: TokenSet
    let user: User
    /// The value that the client sent to recognize the ID token.
    var nonce: String?
    /// When the user entered the password, or `nil` if that was on another device.
    var signedInAt: Date?
}

extension SignIn {
    /// The lifetime of an ID token, in seconds.
    private static let idTokenLifetime = 3600

    /// The claims of the ID token, or `nil` if the client did not request one.
    ///
    /// Source: OpenID Connect Core 1.0, sections 2 and 3.1.2.1.
    func idTokenClaims(issuer: String, subject: String, audience: String, now: Date) -> JSONObject? {
        guard tokens.scope.contains("openid") else { return nil }
        let issuedAt = Int(now.timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": .string(issuer),
            "sub": .string(subject),
            "aud": .string(audience),
            "iat": .integer(issuedAt),
            "exp": .integer(issuedAt + Self.idTokenLifetime),
        ]
        claims["nonce"] = nonce.map { .string($0) }
        claims["auth_time"] = signedInAt.map { .integer(Int($0.timeIntervalSince1970)) }
        return claims
    }
}
