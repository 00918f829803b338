#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The tokens of a signed-in user, and what the service said about them (RFC 6749, section 5.1).
public struct Credentials: Sendable, Equatable {
    /// Sent with each request.
    public var accessToken: Secret

    /// Exchanged for a new access token; many services accept it once only (RFC 9700, section 4.14).
    public var refreshToken: Secret?

    /// The OpenID Connect ID token, where there is one.
    public var idToken: Secret?

    /// How the access token is sent; nearly always `Bearer` (RFC 6750).
    public var tokenType: String

    /// What the tokens allow. Empty where the service did not say.
    public var scopes: [String]

    /// The OAuth client that the tokens were issued to (RFC 6749, section 2.2).
    public var clientID: String?

    /// When the tokens were received.
    public var issuedAt: Date

    /// When the access token expires; `nil` is unknown and never means expired.
    ///
    /// A hint: it makes the next use refresh, and is never a reason to sign anyone out, since the clock may be wrong.
    public var expiresAt: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessToken: Sent with each request.
    ///   - refreshToken: Exchanged for a new access token.
    ///   - idToken: The OpenID Connect ID token.
    ///   - tokenType: How the access token is sent.
    ///   - scopes: What the tokens allow.
    ///   - clientID: The OAuth client that they were issued to.
    ///   - issuedAt: When they were received.
    ///   - expiresAt: When the access token expires; `nil` where unknown.
    public init(
        accessToken: Secret, refreshToken: Secret? = nil, idToken: Secret? = nil, tokenType: String = "Bearer",
        scopes: [String] = [], clientID: String? = nil, issuedAt: Date, expiresAt: Date? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.tokenType = tokenType
        self.scopes = scopes
        self.clientID = clientID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// Whether the access token looks expired at `date` or by `duration` after it. `false` where the expiry is unknown.
    public func expires(within duration: Duration, of date: Date) -> Bool {
        guard let expiresAt else { return false }
        return expiresAt <= date.addingTimeInterval(duration.seconds)
    }

    /// For how long a token should still be good, where nobody says more: a minute, but not so long that a token that lives
    /// a minute is never good enough.
    package var usualValidity: Duration {
        guard let expiresAt else { return .seconds(60) }
        return .seconds(min(60, max(0, expiresAt.timeIntervalSince(issuedAt) / 2)))
    }

    /// Whether the tokens seem to have been received after `date`: the clock was set back since then, and the expiry, which
    /// was reckoned by it, says nothing. Some minutes are no sign of that: machines that share a folder differ by so much.
    package func isFromFuture(at date: Date) -> Bool {
        expiresAt != nil && issuedAt.timeIntervalSince(date) > 300
    }

    /// What a refresh that answered with `renewed` leaves: what the response left out stays as it was.
    ///
    /// Source: RFC 6749, section 6 (refresh token and scope may be missing), OpenID Connect Core, section 12.2 (ID token).
    package func renewed(by renewed: Credentials) -> Credentials {
        var result = renewed
        result.refreshToken = renewed.refreshToken ?? refreshToken
        result.idToken = renewed.idToken ?? idToken
        result.scopes = renewed.scopes.isEmpty ? scopes : renewed.scopes
        result.clientID = renewed.clientID ?? clientID
        return result
    }

    /// Whether both are the same grant at the same point of its life. Two accounts may share all but this.
    package func hasSameTokens(as other: Credentials) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken
    }
}
