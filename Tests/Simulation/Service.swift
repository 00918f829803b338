import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which tokens of which sign-in: `a3.1` and `r3.1` are the second ones of the third. A refresh token that came with a token for
/// another API has a later number than the access token beside it.
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

/// A service that gives out tokens and knows which of them are good. It does what it is asked at once; what happens to
/// requests and responses on their way is up to the world.
struct Service {
    /// What it does with refresh tokens.
    enum RefreshTokenPolicy: CaseIterable {
        /// Each is good once, and one that comes again ends the session (RFC 9700, section 4.14.2).
        case strict
        /// Each is good once.
        case rotating
        /// The same one is good again and again.
        case lasting
        /// There are none.
        case without
    }

    /// What it does when it is told that a sign-in is over.
    enum Revoking: CaseIterable {
        /// It ends that sign-in, and leaves the user's others alone.
        case single
        /// It ends all sign-ins of the user at the client, as Google does.
        case all
        /// It refuses for good.
        case refuses
        /// It cannot be told.
        case notSupported
    }

    struct Grant {
        let user: String
        let client: String
        /// The number of the newest refresh token, and of the newest access token.
        var newest = 0
        var access = 0
        var hasEnded = false
        var isExpired = false
    }

    static let issuer = "https://auth.example.com"

    let policy: RefreshTokenPolicy
    let revoking: Revoking

    /// Whether it knows a refresh token still after it was exchanged, so that it can be told by that one.
    let knowsSpent: Bool
    let lifetime: TimeInterval?

    /// The n-th is number n; there is no number 0.
    private(set) var grants: [Grant] = [Grant(user: "nobody", client: "none", hasEnded: true)]

    init(policy: RefreshTokenPolicy, revoking: Revoking, knowsSpent: Bool, lifetime: TimeInterval?) {
        self.policy = policy
        self.revoking = revoking
        self.knowsSpent = knowsSpent
        self.lifetime = lifetime
    }

    var isRotating: Bool { policy == .strict || policy == .rotating }

    /// Whether a refresh token has been exchanged for another one.
    func isSpent(_ tokens: Tokens) -> Bool {
        guard isRotating, let refresh = tokens.refresh else { return false }
        return refresh < grants[tokens.grant].newest
    }

    /// Whether there is nothing newer of their sign-in.
    func isNewest(_ tokens: Tokens) -> Bool {
        tokens.access == grants[tokens.grant].access && !isSpent(tokens)
    }

    /// Whether somebody who has its tokens could use them, now or after a refresh.
    func isAlive(_ grant: Int) -> Bool {
        !grants[grant].hasEnded && !(policy == .without && grants[grant].isExpired)
    }

    /// Whether ending the one sign-in ends the other.
    func ends(_ other: Int, by grant: Int) -> Bool {
        if other == grant { return true }
        return revoking == .all && isSameUser(other, grant)
    }

    /// Whether two sign-ins are of one user, at one client.
    func isSameUser(_ other: Int, _ grant: Int) -> Bool {
        let (one, two) = (grants[grant], grants[other])
        return one.user == two.user && one.client == two.client
    }

    mutating func issue(_ user: String, _ client: String, at date: Date) -> Credentials {
        grants.append(Grant(user: user, client: client))
        return credentials(of: grants.count - 1, at: date)
    }

    /// Whose tokens these are, without looking whether they are good.
    func account(with credentials: Credentials, at date: Date) -> Account {
        let user = grants[credentials.tokens.grant].user
        return Account(
            id: "id-\(user)", issuer: Self.issuer, username: user, credentials: credentials, verifiedAt: date)
    }

    /// `nil` if the access token is not good.
    func identity(_ tokens: Tokens) -> Identity? {
        let grant = grants[tokens.grant]
        guard !grant.hasEnded, !grant.isExpired, tokens.access == grant.access else { return nil }
        return Identity(id: "id-\(grant.user)", username: grant.user)
    }

    /// `nil` if the refresh token is not good.
    mutating func redeem(_ tokens: Tokens, at date: Date) -> Credentials? {
        guard isToBeRedeemed(tokens) else { return nil }
        grants[tokens.grant].newest += 1
        grants[tokens.grant].access = grants[tokens.grant].newest
        grants[tokens.grant].isExpired = false
        return credentials(of: tokens.grant, at: date)
    }

    /// A token for another API in exchange for the refresh token, or, with none, for the access token; `nil` if that is not good.
    mutating func derive(_ tokens: Tokens, byRefresh: Bool, at date: Date) -> Credentials? {
        guard byRefresh ? isToBeRedeemed(tokens) : identity(tokens) != nil else { return nil }
        if byRefresh, isRotating { grants[tokens.grant].newest += 1 }
        return Credentials(
            accessToken: Secret("d\(tokens.grant).\(grants[tokens.grant].newest)"),
            refreshToken: byRefresh && isRotating ? Secret("r\(tokens.grant).\(grants[tokens.grant].newest)") : nil,
            issuedAt: date, expiresAt: lifetime.map { date.addingTimeInterval($0) })
    }

    /// A spent one that comes again may end the session.
    private mutating func isToBeRedeemed(_ tokens: Tokens) -> Bool {
        guard !grants[tokens.grant].hasEnded, let refresh = tokens.refresh else { return false }
        guard isRotating, refresh != grants[tokens.grant].newest else { return true }
        if policy == .strict { grants[tokens.grant].hasEnded = true }
        return false
    }

    mutating func end(_ grant: Int) { grants[grant].hasEnded = true }

    /// Whether it can be told by these tokens which sign-in is over.
    func knows(_ tokens: Tokens) -> Bool {
        knowsSpent || !isSpent(tokens) || tokens.access == grants[tokens.grant].access
    }

    /// Ends what these tokens are of.
    mutating func revoke(_ tokens: Tokens) {
        guard knows(tokens) else { return }
        for grant in grants.indices where ends(grant, by: tokens.grant) { grants[grant].hasEnded = true }
    }

    mutating func expire(_ grant: Int) { grants[grant].isExpired = true }

    private func credentials(of grant: Int, at date: Date) -> Credentials {
        let newest = grants[grant].newest
        let refresh: Secret? =
            switch policy {
            case .strict, .rotating: Secret("r\(grant).\(newest)")
            case .lasting: newest == 0 ? Secret("r\(grant).0") : nil
            case .without: nil
            }
        return Credentials(
            accessToken: Secret("a\(grant).\(newest)"), refreshToken: refresh, clientID: grants[grant].client,
            issuedAt: date,
            expiresAt: lifetime.map { date.addingTimeInterval($0) })
    }
}
