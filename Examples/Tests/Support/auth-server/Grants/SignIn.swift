#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sign-in that has just succeeded: its first tokens, and what an ID token says about it.
struct SignIn: Equatable, Sendable {
    let tokens: TokenSet
    let user: User
    /// What the client sent along to recognise the ID token by.
    var nonce: String?
    /// When the user gave the password; `nil` when that was on another device.
    var signedInAt: Date?
}

extension SignIn {
    /// How long an ID token may be used, in seconds.
    private static let idTokenLifetime = 3600

    /// The claims of the ID token, or `nil` when the client did not ask for one.
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
