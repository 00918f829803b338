/// The properties of a server's tokens, and the rules for exchanging them.
struct TokenRules: Equatable, Sendable {
    /// What happens to an exchanged refresh token.
    enum Rotation {
        /// The token stays valid, and no new one is issued.
        case off
        /// The token stays valid, and a new one is issued.
        case keepsOld
        /// The token is spent.
        case spends
        /// The token is spent, and so is the access token that was issued with it.
        case spendsBoth
        /// Like `spendsBoth`, but only once the new access token has been used, so that a lost response does no harm.
        case spendsBothAtFirstUse
    }

    var accessTokenPrefix = "at_"
    var refreshTokenPrefix = "rt_"
    /// The lifetime of access tokens in seconds, or `nil` if they last as long as the grant.
    var lifetime: Int?
    var rotation = Rotation.spends
    /// Whether revoking a token ends the whole grant or that token only.
    var revocationEndsSignIn = true
    /// Whether the reuse of a spent refresh token ends its family.
    var detectsReuse = true
    /// The number of sign-ins of a user with the same scope, of which the oldest then ends; `nil` for no limit.
    var signInLimit: Int?
}
