#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One sign-in: the family of all tokens that came from it, which live and end together.
struct Grant: Codable, Equatable, Sendable {
    /// Which of the two APIs the sign-in was for; a token of one is unknown to the other.
    enum Kind: String, Codable {
        case oauth
        case app
    }

    let kind: Kind
    let username: String
    let scope: Scope
    var target = Target()
    /// Whether the grant was revoked, by its user, by the operator, or because a spent refresh token came back.
    var isEnded = false
}

/// An access token as the server remembers it.
struct AccessToken: Codable, Equatable, Sendable {
    let grantID: String
    let scope: Scope
    /// The resources that the request named which brought it.
    var resources: [String] = []
    /// The audience that it was exchanged for; `nil` for that of the sign-in.
    var audience: String?
    /// When it stops to be accepted; a session of the app's own backend has no such time.
    var expiresAt: Date?
    /// The refresh token that it came for, as long as that is good until this token is used.
    var spendsAtFirstUse: String?
}

/// A refresh token as the server remembers it.
struct RefreshToken: Codable, Equatable, Sendable {
    let grantID: String
    /// Whether it has been exchanged for a newer one. Presented again, it gives away that there are two holders.
    var isSpent = false
    /// The access token that was issued together with it.
    let accessToken: String
}

/// What a client is given when it has signed in or refreshed.
struct TokenSet: Equatable, Sendable {
    let accessToken: String
    /// `nil` when the client goes on with the refresh token it has.
    let refreshToken: String?
    /// How long the access token will be accepted, in seconds; `nil` when it has no end of its own.
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
