/// A scope or parameter with which the next sign-in may obtain a refresh token.
package enum RefreshTokenAdvice: Sendable, Equatable {
    /// A scope that the service lists, but that the sign-in did not request.
    case scope(String)

    /// A parameter that the sign-in did not send with its authorization request.
    case parameter(name: String, value: String)
}
