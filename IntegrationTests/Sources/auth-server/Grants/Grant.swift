#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A grant: the family of all tokens of one sign-in, which end together.
struct Grant: Codable, Equatable, Sendable {
    /// The API of the grant. A token of one API is unknown to the other.
    enum Kind: String, Codable {
        case oauth
        case app
    }

    let kind: Kind
    let username: String
    let scope: Scope
    var target = Target()
    /// Whether the grant was revoked by the user, by the operator, or because a spent refresh token was used again.
    var isEnded = false
    /// The number of the grants before this one.
    var order: Int?
    /// The thumbprint of the key that the tokens are bound to (RFC 9449, section 6), if any.
    var thumbprint: String?
}

/// An access token as stored by the server.
struct AccessToken: Codable, Equatable, Sendable {
    let grantID: String
    let scope: Scope
    /// The resources of the token request.
    var resources: [String] = []
    /// The audience of a token exchange, or `nil` for the audience of the sign-in.
    var audience: String?
    /// When the token expires, or `nil` if it does not, such as a session of the app's own backend.
    var expiresAt: Date?
    /// The refresh token that was exchanged for this token, if it stays valid until this token is used.
    var spendsAtFirstUse: String?
}

/// A refresh token as stored by the server.
struct RefreshToken: Codable, Equatable, Sendable {
    let grantID: String
    /// Whether the token has been exchanged for a newer one. A second use reveals that there are two holders.
    var isSpent = false
    /// The access token that was issued together with this token.
    let accessToken: String
}

/// The tokens that a client receives after a sign-in or refresh.
struct TokenSet: Equatable, Sendable {
    let accessToken: String
    /// The new refresh token, or `nil` if the client keeps the existing one.
    let refreshToken: String?
    /// The lifetime of the access token in seconds, or `nil` if it does not expire.
    let lifetime: Int?
    let scope: Scope
}

extension TokenSet {
    /// The token response.
    ///
    /// Source: RFC 6749, section 5.1.
    var response: JSONObject {
        var response: JSONObject = [
            "access_token": .string(accessToken),
            "token_type": "Bearer",
            "scope": .string(scope.text),
        ]
        response["expires_in"] = lifetime.map { .integer($0) }
        response["refresh_token"] = refreshToken.map { .string($0) }
        return response
    }
}
