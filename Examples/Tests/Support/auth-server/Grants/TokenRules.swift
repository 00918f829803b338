/// What the tokens of a server are like, and how they are exchanged.
struct TokenRules: Equatable, Sendable {
    /// What becomes of a refresh token that was exchanged.
    enum Rotation {
        /// It stays, and there is no other.
        case off
        /// It stays, beside a new one.
        case keepsOld
        /// It cannot be used again.
        case spends
        /// It cannot be used again, nor can the access token that was issued with it.
        case spendsBoth
        /// The same, but only once the new access token has been used: a response that was lost does no harm.
        case spendsBothAtFirstUse
    }

    var accessTokenPrefix = "at_"
    var refreshTokenPrefix = "rt_"
    /// How long access tokens are accepted, in seconds; `nil` for as long as the sign-in lasts.
    var lifetime: Int?
    var rotation = Rotation.spends
    /// Whether revoking a token ends its whole sign-in, or that token alone.
    var revocationEndsSignIn = true
    /// Whether a spent refresh token that comes back ends its family.
    var detectsReuse = true
}
