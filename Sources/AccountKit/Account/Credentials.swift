import AccountSupport

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The tokens of a signed-in user, with their scopes and dates (RFC 6749, section 5.1).
public struct Credentials: Sendable, Equatable {
    /// The access token, which authorizes requests.
    public var accessToken: Secret

    /// The token that a refresh exchanges for new ones. Many services accept it only once (RFC 9700, section 4.14).
    public var refreshToken: Secret?

    /// The OpenID Connect ID token; `nil` if there is none.
    public var idToken: Secret?

    /// The type of the access token, usually `Bearer` (RFC 6750).
    public var tokenType: String

    /// The scopes of the tokens; empty if the service did not name them.
    public var scopes: [String]

    /// The OAuth client that the tokens were issued to (RFC 6749, section 2.2).
    public var clientID: String?

    /// When the tokens were received.
    public var issuedAt: Date

    /// When the access token expires; `nil` if the date is unknown, which never counts as expired.
    ///
    /// After this date the next use refreshes the token. The date never ends a session, since the clock may be wrong.
    public var expiresAt: Date?

    /// Access tokens for other APIs or with fewer scopes, the newest last; at most 16.
    ///
    /// They are stored and removed together with the other tokens. A sign-out revokes them too.
    package var derivedTokens: [DerivedToken] = []

    package var clientSecret = ClientSecret.unknown

    /// How the client sends its secret (OpenID Connect Core, section 9); `nil` if the metadata of the service decides.
    package var clientAuthentication: String?

    /// The scopes of the sign-in, if the service has returned fewer ``scopes`` since; otherwise empty.
    package var signInScopes: [String] = []

    /// The APIs that the sign-in requested tokens for (RFC 8707), as sent; empty if it named none, or if an earlier
    /// version wrote the archive.
    package var resources: [String] = []

    /// Whether the user info endpoint refused the access token at the sign-in, because the token is for an API only.
    package var isForAPIOnly = false

    /// The service said that the tokens belong to another user. No program gets them until it confirms the account.
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

    /// Whether the access token expires within `duration` after `date`. `false` if the expiry is unknown.
    public func expires(within duration: Duration, of date: Date) -> Bool {
        guard let expiresAt else { return false }
        return expiresAt <= date.addingTimeInterval(duration.seconds)
    }

    /// How long a token should still be valid by default: a minute, but at most half of its lifetime.
    package var usualValidity: Duration {
        guard let expiresAt else { return .seconds(60) }
        return .seconds(min(60, max(0, expiresAt.timeIntervalSince(issuedAt) / 2)))
    }

    /// Whether the access token needs no refresh. With `nil` it must be valid for ``usualValidity``.
    package func isGood(for validity: Duration?, at date: Date) -> Bool {
        !expires(within: validity ?? usualValidity, of: date) && !isFromFuture(at: date)
    }

    /// Whether the clock was set back since the tokens were received, so that their expiry means nothing. The clocks of
    /// machines that share a folder may differ by five minutes.
    package func isFromFuture(at date: Date) -> Bool {
        expiresAt != nil && issuedAt.timeIntervalSince(date) > 300
    }

    /// Values that the response leaves out stay unchanged (RFC 6749, section 6; OpenID Connect Core, section 12.2).
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
        result.resources = resources
        result.isForAPIOnly = isForAPIOnly
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
