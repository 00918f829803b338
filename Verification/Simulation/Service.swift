import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number of a sign-in, and of its tokens: `a3.1` and `r3.1` are the second tokens of the third sign-in. A refresh token that came
/// with a token for another API has a higher number than the access token beside it.
struct Tokens: Hashable, Sendable {
    var grant: Int
    var access: Int
    var refresh: Int?

    var text: String { "\(grant).\(access)" }
}

extension Credentials {
    /// The tokens by number.
    var tokens: Tokens {
        let access = accessToken.reveal().dropFirst().split(separator: ".").map { Int($0)! }
        return Tokens(grant: access[0], access: access[1], refresh: refreshNumber)
    }

    var refreshNumber: Int? { refreshToken.flatMap { Int($0.reveal().split(separator: ".")[1]) } }

    var token: String { accessToken.reveal() }
}

extension Account {
    /// The tokens by number.
    var tokens: Tokens { credentials.tokens }

    var token: String { credentials.token }
}

/// A service that issues tokens, and records which tokens are valid. The service processes each request at once. The world decides whether
/// requests and responses are delayed or lost.
struct Service {
    /// How the service handles refresh tokens.
    enum RefreshTokenPolicy: CaseIterable {
        /// Each refresh token is valid once, and a second use ends the session (RFC 9700, section 4.14.2).
        case strict
        /// Each refresh token is valid once.
        case rotating
        /// The same refresh token stays valid.
        case lasting
        /// The service issues no refresh tokens.
        case without
        /// The accounts are of clients without a user, which request another token without a refresh token.
        case machine
    }

    /// How the service handles a revocation.
    enum Revoking: CaseIterable {
        /// The service ends that sign-in, but no other sign-in of the user.
        case single
        /// The service ends all sign-ins of the user at the client, as Google does.
        case all
        /// The service always refuses.
        case refuses
        /// The service has no revocation endpoint.
        case notSupported
    }

    /// How a successful response to a request with a refresh token differs from a plain one, after an authority has read it. The
    /// service has spent the refresh token, so the next one must be stored in each case.
    enum Oddity: CaseIterable {
        /// The access token has a type that the session cannot use: it is not bound to the key of a bound session, or belongs to
        /// an unknown protocol.
        case otherType
        /// The ID token names another user.
        case otherUser
        /// Only the next refresh token can be read.
        case noAccessToken
    }

    struct Grant {
        let user: String
        let client: String
        /// The number of the newest refresh token, and of the newest access token.
        var newest = 0
        var access = 0
        var hasEnded = false
        var isExpired = false
        /// The response to each refresh of a sign-in that the service no longer renews, although it has not ended.
        var refusal: AuthorityError?
    }

    /// Responses to a refresh that never get better, and are no rejection of the refresh token.
    static let refusals: [AuthorityError] = [
        .oauthError("interaction_required"), .oauthError("bad_refresh_token"), .oauthError("unauthorized_client"),
        .oauthError("invalid_request"), .oauthError("access_denied"), .refused(status: 400), .refused(status: 404),
        .unauthorized(error: nil),
    ]

    static let issuer = "https://auth.example.com"

    let policy: RefreshTokenPolicy
    let revoking: Revoking

    /// Whether a spent refresh token still identifies the sign-in in a revocation.
    let knowsSpent: Bool
    let lifetime: TimeInterval?

    /// Whether the service binds the tokens of each sign-in to a key (RFC 9449).
    let bindsTokens: Bool

    /// The sign-in with number n is at index n; there is no number 0.
    private(set) var grants: [Grant] = [Grant(user: "nobody", client: "none", hasEnded: true)]

    init(
        policy: RefreshTokenPolicy, revoking: Revoking, knowsSpent: Bool, lifetime: TimeInterval?, bindsTokens: Bool
    ) {
        self.policy = policy
        self.revoking = revoking
        self.knowsSpent = knowsSpent
        self.lifetime = lifetime
        self.bindsTokens = bindsTokens && policy != .machine
    }

    /// Whether an account contains the key of its sign-in.
    func hasKey(_ account: Account) -> Bool {
        account.credentials.proofKey == (bindsTokens ? Self.key(of: account.tokens.grant) : nil)
    }

    private static func key(of grant: Int) -> Secret { Secret("k\(grant)") }

    var isRotating: Bool { policy == .strict || policy == .rotating }

    /// Whether a refresh token is spent.
    func isSpent(_ tokens: Tokens) -> Bool {
        guard isRotating, let refresh = tokens.refresh else { return false }
        return refresh < grants[tokens.grant].newest
    }

    /// Whether these are the newest tokens of their sign-in.
    func isNewest(_ tokens: Tokens) -> Bool {
        tokens.access == grants[tokens.grant].access && !isSpent(tokens)
    }

    /// Whether the tokens of a sign-in can be used, now or after a refresh.
    func isAlive(_ grant: Int) -> Bool {
        !grants[grant].hasEnded && !(policy == .without && grants[grant].isExpired)
    }

    /// Whether ending one sign-in also ends another.
    func ends(_ other: Int, by grant: Int) -> Bool {
        if other == grant { return true }
        return revoking == .all && isSameUser(other, grant)
    }

    /// Whether two sign-ins have the same user and the same client.
    func isSameUser(_ other: Int, _ grant: Int) -> Bool {
        let (one, two) = (grants[grant], grants[other])
        return one.user == two.user && one.client == two.client
    }

    mutating func issue(_ user: String, _ client: String, at date: Date) -> Credentials {
        grants.append(Grant(user: user, client: client))
        var new = credentials(of: grants.count - 1, at: date)
        // The response to a refresh does not repeat the key.
        if bindsTokens { new.proofKey = Self.key(of: grants.count - 1) }
        return new
    }

    /// The user of these tokens, whether or not they are valid.
    func account(with credentials: Credentials, at date: Date) -> Account {
        let user = grants[credentials.tokens.grant].user
        return Account(
            id: "id-\(user)", issuer: Self.issuer, username: user, credentials: credentials, verifiedAt: date)
    }

    /// The user of an access token; `nil` if the token is not valid.
    func identity(_ tokens: Tokens) -> Identity? {
        let grant = grants[tokens.grant]
        guard !grant.hasEnded, !grant.isExpired, tokens.access == grant.access else { return nil }
        return Identity(id: "id-\(grant.user)", username: grant.user)
    }

    /// The oddities of a successful response to a request with a refresh token.
    func oddities(byRefresh: Bool = true) -> [Oddity] {
        switch policy {
        case .strict, .rotating: byRefresh ? Oddity.allCases : []
        case .lasting: byRefresh ? [.otherType, .otherUser] : []
        case .without, .machine: []
        }
    }

    /// Exchanges the refresh token of an account for new tokens; `nil` if the refresh token is not valid.
    mutating func redeem(_ account: Account, _ oddity: Oddity? = nil, at date: Date) -> Credentials? {
        let tokens = account.tokens
        guard isToBeRedeemed(tokens) else { return nil }
        grants[tokens.grant].newest += 1
        if oddity == .noAccessToken { return withoutAccessToken(account) }
        grants[tokens.grant].access = grants[tokens.grant].newest
        grants[tokens.grant].isExpired = false
        return odd(credentials(of: tokens.grant, at: date), oddity)
    }

    /// A token for another API in exchange for the refresh token or, without one, the access token; `nil` if that token is not valid.
    mutating func derive(
        _ account: Account, byRefresh: Bool, _ oddity: Oddity? = nil, at date: Date
    ) -> Credentials? {
        let tokens = account.tokens
        guard byRefresh ? isToBeRedeemed(tokens) : identity(tokens) != nil else { return nil }
        if byRefresh, isRotating { grants[tokens.grant].newest += 1 }
        if oddity == .noAccessToken { return withoutAccessToken(account) }
        let derived = Credentials(
            accessToken: Secret("d\(tokens.grant).\(grants[tokens.grant].newest)"),
            refreshToken: byRefresh && isRotating ? Secret("r\(tokens.grant).\(grants[tokens.grant].newest)") : nil,
            tokenType: tokenType, issuedAt: date, expiresAt: lifetime.map { date.addingTimeInterval($0) })
        return odd(derived, oddity)
    }

    private var tokenType: String { bindsTokens ? Credentials.boundType : "Bearer" }

    private func odd(_ credentials: Credentials, _ oddity: Oddity?) -> Credentials {
        var result = credentials
        switch oddity {
        case .otherType:
            (result.tokenType, result.isOfUnsupportedType) = bindsTokens ? ("Bearer", false) : ("mac", true)
        case .otherUser: result.isOfOtherUser = true
        case .noAccessToken, nil: break
        }
        return result
    }

    private func withoutAccessToken(_ account: Account) -> Credentials {
        var result = account.credentials
        result.refreshToken = Secret("r\(account.tokens.grant).\(grants[account.tokens.grant].newest)")
        result.lacksAccessToken = true
        return result
    }

    /// A second use of a spent token may end the session.
    private mutating func isToBeRedeemed(_ tokens: Tokens) -> Bool {
        guard !grants[tokens.grant].hasEnded else { return false }
        if policy == .machine { return true }
        guard let refresh = tokens.refresh else { return false }
        guard isRotating, refresh != grants[tokens.grant].newest else { return true }
        if policy == .strict { grants[tokens.grant].hasEnded = true }
        return false
    }

    mutating func end(_ grant: Int) { grants[grant].hasEnded = true }

    /// Whether these tokens identify the sign-in to end.
    func knows(_ tokens: Tokens) -> Bool {
        knowsSpent || !isSpent(tokens) || tokens.access == grants[tokens.grant].access
    }

    /// Ends the sign-in of these tokens.
    mutating func revoke(_ tokens: Tokens) {
        guard knows(tokens) else { return }
        for grant in grants.indices where ends(grant, by: tokens.grant) { grants[grant].hasEnded = true }
    }

    mutating func stopRenewing(_ grant: Int, with refusal: AuthorityError) { grants[grant].refusal = refusal }

    mutating func expire(_ grant: Int) { grants[grant].isExpired = true }

    private func credentials(of grant: Int, at date: Date) -> Credentials {
        let newest = grants[grant].newest
        let refresh: Secret? =
            switch policy {
            case .strict, .rotating: Secret("r\(grant).\(newest)")
            case .lasting: newest == 0 ? Secret("r\(grant).0") : nil
            case .without, .machine: nil
            }
        var credentials = Credentials(
            accessToken: Secret("a\(grant).\(newest)"), refreshToken: refresh, tokenType: tokenType,
            clientID: grants[grant].client, issuedAt: date,
            expiresAt: lifetime.map { date.addingTimeInterval($0) })
        if policy == .machine { credentials.machine = MachineGrant() }
        return credentials
    }
}
