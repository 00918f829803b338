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

    /// Access tokens for other APIs, or for less, that were derived from this sign-in, the newest last; at most 16.
    ///
    /// They are kept and removed together with the other tokens. A service that is told of a sign-out revokes them too.
    public package(set) var derivedTokens: [DerivedToken] = []

    /// The secret of the client that the tokens were issued to.
    package var clientSecret = ClientSecret.unknown

    /// How that client sends its secret, as OpenID Connect Core, section 9, names it; `nil` lets the endpoint decide.
    package var clientAuthentication: String?

    /// What the sign-in was granted, if the service has returned fewer ``scopes`` since; otherwise empty.
    package var signInScopes: [String] = []

    /// Whether the service said that the tokens are another user's. Until the service confirms the account, no program gets them.
    package var isWithheld = false

    /// Creates credentials.
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

    /// How long a token should still be good for where the caller does not say: a minute, but at most half the token's life, or
    /// one that lives a minute would never do.
    package var usualValidity: Duration {
        guard let expiresAt else { return .seconds(60) }
        return .seconds(min(60, max(0, expiresAt.timeIntervalSince(issuedAt) / 2)))
    }

    /// Whether the access token need not be refreshed, as far as anybody knows.
    ///
    /// - Parameters:
    ///   - validity: For how long it should still be good; `nil` is the usual.
    ///   - date: Now.
    package func isGood(for validity: Duration?, at date: Date) -> Bool {
        !expires(within: validity ?? usualValidity, of: date) && !isFromFuture(at: date)
    }

    /// Whether the clock was set back since the tokens were received, so that the expiry says nothing. Some minutes are no sign
    /// of that: the clocks of machines that share a folder differ by so much.
    package func isFromFuture(at date: Date) -> Bool {
        expiresAt != nil && issuedAt.timeIntervalSince(date) > 300
    }

    /// What the response to a refresh left out stays as it was (RFC 6749, section 6; OpenID Connect Core, section 12.2).
    package func renewed(by response: Credentials) -> Credentials {
        var result = response
        result.refreshToken = response.refreshToken ?? refreshToken
        result.idToken = response.idToken ?? idToken
        result.scopes = response.scopes.isEmpty ? scopes : response.scopes
        let granted = signInScopes.isEmpty ? scopes : signInScopes
        // Some responses leave out `offline_access`, which is not for an API.
        let missing = Set(granted).subtracting(result.scopes).subtracting(["offline_access"])
        result.signInScopes = missing.isEmpty || !granted.contains { result.scopes.contains($0) } ? [] : granted
        result.clientID = response.clientID ?? clientID
        result.derivedTokens = derivedTokens
        if response.clientSecret == .unknown {
            result.clientSecret = clientSecret
            result.clientAuthentication = clientAuthentication
        }
        // The authority has compared a new ID token with the account.
        result.isWithheld = isWithheld && response.idToken == nil
        return result
    }

    package func hasSameTokens(as other: Credentials) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken
    }
}
