/// A scope or parameter with which the next sign-in may obtain a refresh token.
package enum RefreshTokenAdvice: Sendable, Equatable {
    /// A scope that the service lists, but that the sign-in did not request.
    case scope(String)

    /// A parameter that the sign-in did not send with its authorization request.
    case parameter(name: String, value: String)
}

package protocol RefreshTokenAdvisor: AccountAuthority {
    /// Returns a scope or parameter that the sign-in did not send; `nil` if it sent all of them, or if the scopes of
    /// the service are unknown.
    func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice?

    /// Returns the scopes that a sign-in requests; an empty array if they are unknown.
    func signInScopes() async -> [String]
}
