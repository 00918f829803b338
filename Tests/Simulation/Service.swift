import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which tokens of which sign-in: `a3.1` and `r3.1` are the second ones of the third.
struct Tokens: Hashable, Sendable {
    var grant: Int
    var access: Int
    var refresh: Int?

    var text: String { "\(grant).\(access)" }
}

extension Account {
    /// The tokens by number.
    var tokens: Tokens {
        let access = credentials.accessToken.reveal().dropFirst().split(separator: ".").map { Int($0)! }
        let refresh = credentials.refreshToken?.reveal().dropFirst().split(separator: ".").map { Int($0)! }
        return Tokens(grant: access[0], access: access[1], refresh: refresh?[1])
    }

    var token: String { credentials.accessToken.reveal() }
}

/// A service that gives out tokens and knows which of them are good. It does what it is asked at once; what happens to
/// requests and replies on their way is up to the world.
struct Service {
    /// What it does with refresh tokens.
    enum Manner: CaseIterable {
        /// Each is good once, and one that comes again ends the session (RFC 9700, section 4.14.2).
        case strict
        /// Each is good once.
        case rotating
        /// The same one is good again and again.
        case lasting
        /// There are none.
        case without
    }

    struct Grant {
        let user: String
        var newest = 0
        var hasEnded = false
        var isExpired = false
    }

    let manner: Manner
    let lifetime: TimeInterval?

    /// The n-th is number n; there is no number 0.
    private(set) var grants: [Grant] = [Grant(user: "nobody", hasEnded: true)]

    init(manner: Manner, lifetime: TimeInterval?) {
        self.manner = manner
        self.lifetime = lifetime
    }

    var isRotating: Bool { manner == .strict || manner == .rotating }

    /// Whether a refresh token has been exchanged for another one.
    func isSpent(_ tokens: Tokens) -> Bool {
        guard isRotating, let refresh = tokens.refresh else { return false }
        return refresh < grants[tokens.grant].newest
    }

    mutating func signIn(_ user: String, at date: Date) -> Account {
        grants.append(Grant(user: user))
        return Account(
            id: "id-\(user)", issuer: "https://auth.example.com", username: user,
            credentials: credentials(of: grants.count - 1, at: date), verifiedAt: date)
    }

    /// `nil` if the access token is not good.
    func identity(_ tokens: Tokens) -> Identity? {
        let grant = grants[tokens.grant]
        guard !grant.hasEnded, !grant.isExpired, tokens.access == grant.newest else { return nil }
        return Identity(id: "id-\(grant.user)", username: grant.user)
    }

    /// `nil` if the refresh token is not good.
    mutating func redeem(_ tokens: Tokens, at date: Date) -> Credentials? {
        guard !grants[tokens.grant].hasEnded, let refresh = tokens.refresh else { return nil }
        if isRotating, refresh != grants[tokens.grant].newest {
            if manner == .strict { grants[tokens.grant].hasEnded = true }
            return nil
        }
        grants[tokens.grant].newest += 1
        grants[tokens.grant].isExpired = false
        return credentials(of: tokens.grant, at: date)
    }

    mutating func end(_ grant: Int) { grants[grant].hasEnded = true }

    mutating func expire(_ grant: Int) { grants[grant].isExpired = true }

    private func credentials(of grant: Int, at date: Date) -> Credentials {
        let newest = grants[grant].newest
        let refresh: Secret? =
            switch manner {
            case .strict, .rotating: Secret("r\(grant).\(newest)")
            case .lasting: newest == 0 ? Secret("r\(grant).0") : nil
            case .without: nil
            }
        return Credentials(
            accessToken: Secret("a\(grant).\(newest)"), refreshToken: refresh, issuedAt: date,
            expiresAt: lifetime.map { date.addingTimeInterval($0) })
    }
}
