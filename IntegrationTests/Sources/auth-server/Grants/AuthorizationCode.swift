#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request that the user has approved in the browser, until the client exchanges the code for tokens.
///
/// Source: RFC 6749, section 4.1.2.
struct AuthorizationCode: Codable, Equatable, Sendable {
    let username: String
    let scope: Scope
    let target: Target
    /// The redirect URI of the request. The client must send the same one with the code.
    let redirectURI: String
    let challenge: CodeChallenge
    /// The value that the client expects in the ID token.
    let nonce: String?
    let bringsRefreshToken: Bool
    let signedInAt: Date
    let expiresAt: Date
    /// The access token that the code was exchanged for.
    var spentFor: String?
}
