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

    /// The token that a refresh exchanges for new tokens. Many services accept each refresh token only once (RFC 9700,
    /// section 4.14).
    public var refreshToken: Secret?

    /// The OpenID Connect ID token; `nil` if there is none.
    public var idToken: Secret?

    /// The type of the access token, usually `Bearer` (RFC 6750).
    public var tokenType: String

    /// The scopes of the tokens; empty if the service did not report them.
    public var scopes: [String]

    /// The OAuth client that the tokens were issued to (RFC 6749, section 2.2).
    public var clientID: String?

    /// The date when the tokens were received.
    public var issuedAt: Date

    /// The date when the access token expires; `nil` if the date is unknown. A token without a known date does not
    /// count as expired.
    ///
    /// After this date, the next use of the token causes a refresh. The date alone does not end a session, since the
    /// clock may be wrong.
    public var expiresAt: Date?

    /// Access tokens for other APIs or with fewer scopes, the newest last; at most 16.
    ///
    /// AccountKit stores and removes derived tokens together with the other tokens. A sign-out revokes them too.
    package var derivedTokens: [DerivedToken] = []

    package var clientSecret = ClientSecret.unknown

    /// The method by which the client sends its secret (OpenID Connect Core, section 9); `nil` if the metadata of the
    /// service determines the method.
    package var clientAuthentication: String?

    /// The scopes of the sign-in; empty unless the service has returned fewer ``scopes`` since then.
    package var signInScopes: [String] = []

    /// The ID of the user, if the token response of the sign-in names it; never stored.
    package var user: String?

    /// The last nonce that the service sent for proofs at its token endpoint (RFC 9449, section 8), for the first request of
    /// another process; `nil` if there is none.
    package var proofNonce: String?

    /// The APIs that the sign-in requested tokens for (RFC 8707), as sent; empty if it named none.
    package var resources: [String] = []

    /// Whether requests for tokens leave out the ``resources``, because the service refuses the parameter. The scopes alone
    /// then name the API.
    package var omitsResource = false

    /// The endpoint that issued the tokens, for the next refresh; `nil` if the service does not allow AccountKit to store
    /// its metadata, or if the app specified the endpoint.
    package var tokenEndpoint: TokenEndpoint?

    /// Whether the user info endpoint cannot identify the user of the access token, because it did not at the sign-in: the
    /// token is for an API only, was requested without the scope `openid`, or the endpoint does not work.
    package var isForAPIOnly = false

    /// Whether the service has reported that the tokens belong to another user.
    package var isOfOtherUser = false

    /// Whether AccountKit does not support the type of the access token, or supports it only in a response to a request
    /// with a proof.
    package var isOfUnsupportedType = false

    /// Whether the response to a refresh contained the next refresh token, but no access token that can be read. The other values
    /// are those of the session before the refresh. A stored session never has this value.
    package var lacksAccessToken = false

    /// Whether AccountKit returns the tokens to no program: until the service confirms the account, if the tokens may belong
    /// to another user; until the next refresh, if the access token has the wrong type.
    package var isWithheld: Bool { isOfOtherUser || hasWrongType }

    /// Whether the access token is of another type than the session requires.
    package var hasWrongType: Bool { hasWrongType(in: self) }

    /// How to obtain another access token without a user and a refresh token; `nil` for the session of a user.
    package var machine: MachineGrant?

    /// The private key that the tokens are bound to (RFC 9449): the 32 bytes of a key on the curve P-256. `nil` if every
    /// holder of the tokens can use them.
    ///
    /// Without this key, the service accepts no token of the session. The key therefore stays the same until the session
    /// ends.
    package var proofKey: Secret?

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

    /// Whether the access token requires a proof of the ``proofKey`` in each request.
    package var requiresProof: Bool { tokenType.lowercased() == Self.boundType.lowercased() }

    /// The token type of tokens that are bound to a key (RFC 9449, section 5).
    package static let boundType = "DPoP"

    /// Returns whether the access token in a response to a request for this session is of another type than the session
    /// requires. If the tokens of the session are bound to a key, a token that is not bound to it would be useful to every
    /// holder of a copy.
    package func hasWrongType(in response: Credentials) -> Bool {
        response.isOfUnsupportedType || proofKey != nil && !response.requiresProof
    }

    /// Describes the type of the access token in a response to a request for this session, if it is the wrong one.
    package func flawOfType(in response: Credentials) -> String {
        let type = response.tokenType.shown
        guard proofKey != nil else { return "the service issued a token of the unsupported type \(type)" }
        return "the service issued a token of the type \(type), which is not bound to the key of this session (DPoP)"
    }

    /// Whether AccountKit can obtain another access token without the user.
    package var isRenewable: Bool { refreshToken != nil || machine != nil }

    /// Returns whether the access token has expired at `date`; `false` if the expiry is unknown.
    public func isExpired(at date: Date) -> Bool { expires(within: .zero, of: date) }

    /// Returns whether the access token expires within `duration` after `date`; `false` if the expiry is unknown.
    package func expires(within duration: Duration, of date: Date) -> Bool {
        guard let expiresAt else { return false }
        return expiresAt <= date.addingTimeInterval(duration.seconds)
    }

    /// The time for which a token must still be valid by default: one minute, but at most half of the token's lifetime.
    package var usualValidity: Duration {
        guard let expiresAt else { return .seconds(60) }
        return .seconds(min(60, max(0, expiresAt.timeIntervalSince(issuedAt) / 2)))
    }

    /// Returns whether the access token is still valid for `validity`, so that it needs no refresh. If `validity` is
    /// `nil`, ``usualValidity`` applies.
    package func isGood(for validity: Duration?, at date: Date) -> Bool {
        !expires(within: validity ?? usualValidity, of: date) && !isFromFuture(at: date)
    }

    /// Returns whether the clock was set back after the tokens were received, so that their expiry date is not
    /// reliable. A difference of up to five minutes does not count, since the clocks of machines that share a folder
    /// may differ.
    package func isFromFuture(at date: Date) -> Bool {
        expiresAt != nil && issuedAt.timeIntervalSince(date) > 300
    }

    /// Returns the credentials after a refresh. Values that the response leaves out stay unchanged (RFC 6749, section
    /// 6; OpenID Connect Core, section 12.2).
    package func renewed(by response: Credentials) -> Credentials {
        if response.lacksAccessToken {
            var result = self
            result.refreshToken = response.refreshToken ?? refreshToken
            return result
        }
        var result = response
        result.refreshToken = response.refreshToken ?? refreshToken
        result.idToken = response.idToken ?? idToken
        if let machine {
            result.machine = machine
            // The assertion of the sign-in may have named no subject.
            result.machine?.subject = machine.subject ?? response.machine?.subject
            (result.refreshToken, result.idToken) = (nil, nil)
        }
        result.scopes = response.scopes.isEmpty ? scopes : response.scopes
        let granted = signInScopes.isEmpty ? scopes : signInScopes
        // Ignore `offline_access`: some responses leave it out, and it is not a scope of an API.
        let missing = Set(granted).subtracting(result.scopes).subtracting(["offline_access"])
        result.signInScopes = missing.isEmpty || !granted.contains { result.scopes.contains($0) } ? [] : granted
        result.clientID = response.clientID ?? clientID
        result.derivedTokens = derivedTokens
        result.resources = resources
        result.omitsResource = omitsResource
        result.proofKey = proofKey
        result.isForAPIOnly = isForAPIOnly
        if response.clientSecret == .unknown {
            result.clientSecret = clientSecret
            result.clientAuthentication = clientAuthentication
        }
        // If the response contains a new ID token, the authority has compared that token with the account. The token of a
        // client has no user.
        result.isOfOtherUser =
            response.isOfOtherUser || isOfOtherUser && response.idToken == nil && machine == nil
        return result
    }

    /// Returns whether the access token was issued after that of `other`. Some services issue the same token again. Stored dates
    /// have no fractions of a second.
    package func isRefreshed(since other: Credentials) -> Bool {
        accessToken != other.accessToken || issuedAt.timeIntervalSince(other.issuedAt) >= 1
    }

    package func hasSameTokens(as other: Credentials) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken
    }
}
