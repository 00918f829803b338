package import AccountSupport

/// The token endpoint that issued an account's tokens, and the user info endpoint beside it, so that a refresh or a check
/// by another process needs no discovery.
///
/// The archive authenticates the endpoints: a program that cannot replace the tokens cannot redirect them either.
package struct TokenEndpoint: Sendable, Equatable {
    /// The longest time for which the metadata of a service is fresh.
    package static let longestLifetime: TimeInterval = 86_400

    package var url: String

    /// The supported methods of client authentication that the metadata lists; `nil` if it contains no list.
    package var authenticationMethods: [String]?

    /// The URL of the user info endpoint; `nil` if the metadata names none.
    package var userInfo: String?

    /// The date when the metadata of the service expires.
    package var expiresAt: Date

    package init(url: String, authenticationMethods: [String]? = nil, userInfo: String? = nil, expiresAt: Date) {
        self.url = url
        self.authenticationMethods = authenticationMethods
        self.userInfo = userInfo
        self.expiresAt = expiresAt
    }

    /// Returns whether the metadata is fresh. If the clock was set back, this is unknown, and the result is `false`.
    package func isFresh(at date: Date) -> Bool {
        let rest = expiresAt.timeIntervalSince(date)
        return rest > 0 && rest <= Self.longestLifetime
    }
}
