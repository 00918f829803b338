/// A scope or parameter with which the next sign-in may get a refresh token.
package enum RefreshTokenAdvice: Sendable, Equatable {
    /// A scope that was not asked for, and that the service lists.
    case scope(String)

    /// A parameter of the authorization request that was not sent.
    case parameter(name: String, value: String)
}

package protocol RefreshTokenAdvisor: AccountAuthority {
    /// Returns `nil` if every such value was sent, or if the scopes of the service are unknown.
    func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice?
}
