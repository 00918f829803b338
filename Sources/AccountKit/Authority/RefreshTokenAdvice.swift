/// A scope or parameter with which the next sign-in may get a refresh token.
package enum RefreshTokenAdvice: Sendable, Equatable {
    /// A scope that was not asked for, and that the service lists.
    case scope(String)

    /// A parameter of the authorization request that was not sent.
    case parameter(name: String, value: String)
}

/// An authority that knows what can help after a sign-in without a refresh token.
package protocol RefreshTokenAdvisor: AccountAuthority {
    /// - Parameter usesBrowser: Whether the user signed in with a browser.
    /// - Returns: `nil` if there is nothing else to ask for, or if the scopes of the service are unknown.
    func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice?
}
