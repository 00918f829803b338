#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a user agreed to in the browser, until the client exchanges the code for it.
///
/// Source: RFC 6749, section 4.1.2.
struct AuthorizationCode: Codable, Equatable, Sendable {
    let username: String
    let scope: Scope
    let target: Target
    /// Where the code was sent; the client has to name the same address.
    let redirectURI: String
    let challenge: CodeChallenge
    /// What the client wants to find in the ID token.
    let nonce: String?
    let bringsRefreshToken: Bool
    let signedInAt: Date
    let expiresAt: Date
    /// The access token that it was exchanged for.
    var spentFor: String?
}
