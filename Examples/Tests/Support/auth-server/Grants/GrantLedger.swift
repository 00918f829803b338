#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Every sign-in and every token, and the rules by which they come and go.
///
/// A value without side effects: the caller says what time it is and keeps the result.
struct GrantLedger: Codable, Equatable, Sendable {
    private var grants: [String: Grant] = [:]
    private var accessTokens: [String: AccessToken] = [:]
    private var refreshTokens: [String: RefreshToken] = [:]

    /// Opens a grant for the OAuth endpoints and issues its first tokens.
    ///
    /// - Parameter resources: those that the first access token is for.
    mutating func open(
        for username: String,
        scope: Scope,
        target: Target = Target(),
        resources: [String] = [],
        withRefreshToken: Bool,
        rules: TokenRules,
        now: Date
    ) -> TokenSet {
        let id = RandomText.token(prefix: "grant_")
        grants[id] = Grant(kind: .oauth, username: username, scope: scope, target: target)
        return issue(
            for: id, scope: scope, resources: resources, withRefreshToken: withRefreshToken, rules: rules, now: now)
    }

    /// Opens a session of the app's own backend; it has one token, and no end of its own.
    mutating func openAppSession(for username: String) -> String {
        let id = RandomText.token(prefix: "grant_")
        let token = RandomText.token(prefix: "app_")
        grants[id] = Grant(kind: .app, username: username, scope: .all)
        accessTokens[token] = AccessToken(grantID: id, scope: .all, expiresAt: nil)
        return token
    }

    private mutating func issue(
        for grantID: String,
        scope: Scope,
        resources: [String],
        withRefreshToken: Bool,
        rules: TokenRules,
        now: Date
    ) -> TokenSet {
        let tokens = TokenSet(
            accessToken: RandomText.token(prefix: rules.accessTokenPrefix),
            refreshToken: withRefreshToken ? RandomText.token(prefix: rules.refreshTokenPrefix) : nil,
            lifetime: rules.lifetime,
            scope: scope
        )
        let expiresAt = rules.lifetime.map { now.addingTimeInterval(TimeInterval($0)) }
        accessTokens[tokens.accessToken] = AccessToken(
            grantID: grantID, scope: scope, resources: resources, expiresAt: expiresAt)
        if let refreshToken = tokens.refreshToken {
            refreshTokens[refreshToken] = RefreshToken(grantID: grantID, accessToken: tokens.accessToken)
        }
        return tokens
    }
}

// MARK: - Refreshing

extension GrantLedger {
    /// What became of a refresh token that was presented.
    enum Refresh: Equatable, Sendable {
        case issued(TokenSet)
        /// It was spent before: its whole family has just been ended.
        case reused
        /// It was spent before, and that has no consequences.
        case spent
        /// It is not known, or its grant has ended.
        case rejected
        /// The scope that was asked for is more than the user agreed to; the token has not been spent.
        case scopeTooWide
        /// A resource was asked for that the user did not agree to; the token has not been spent.
        case resourceTooWide
    }

    /// Exchanges a refresh token for new tokens.
    ///
    /// Source: RFC 6749, section 6; RFC 9700, section 4.14.2 (rotation, and ending the family on reuse). Unless the rules
    /// say otherwise, access tokens issued earlier stay valid for the rest of their time.
    mutating func refresh(
        _ token: String,
        scope: Scope?,
        resources: [String] = [],
        rules: TokenRules,
        now: Date
    ) -> Refresh {
        guard let held = refreshTokens[token], let grant = grants[held.grantID], !grant.isEnded else {
            return .rejected
        }
        guard !held.isSpent else {
            guard rules.detectsReuse else { return .spent }
            grants[held.grantID]?.isEnded = true
            return .reused
        }
        guard scope?.isSubset(of: grant.scope) ?? true else { return .scopeTooWide }
        guard resources.allSatisfy(grant.target.resources.contains) else { return .resourceTooWide }
        let tokens = issue(
            for: held.grantID,
            scope: scope ?? grant.scope,
            resources: resources,
            withRefreshToken: rules.rotation != .off,
            rules: rules,
            now: now
        )
        switch rules.rotation {
        case .off, .keepsOld: break
        case .spends: refreshTokens[token]?.isSpent = true
        case .spendsBoth: spend(token)
        case .spendsBothAtFirstUse: accessTokens[tokens.accessToken]?.spendsAtFirstUse = token
        }
        return .issued(tokens)
    }

    /// Makes a refresh token useless, and the access token that was issued with it.
    private mutating func spend(_ token: String) {
        guard let held = refreshTokens[token] else { return }
        refreshTokens[token]?.isSpent = true
        accessTokens[held.accessToken] = nil
    }
}

// MARK: - Exchanging

extension GrantLedger {
    /// What became of an access token that was presented for another one.
    enum Exchange: Equatable, Sendable {
        case issued(TokenSet)
        /// It is not known, it has expired, or its grant has ended.
        case rejected
        /// The scope that was asked for is more than it has.
        case scopeTooWide
    }

    /// Issues an access token of the same sign-in for something else, beside the one that was presented (RFC 8693).
    mutating func exchange(
        _ token: String, scope: Scope?, target: Target, rules: TokenRules, now: Date
    ) -> Exchange {
        guard case .user(_, let held) = holder(of: token, kind: .oauth, now: now), let id = accessTokens[token]?.grantID
        else { return .rejected }
        guard scope?.isSubset(of: held) ?? true else { return .scopeTooWide }
        let tokens = issue(
            for: id, scope: scope ?? held, resources: target.resources, withRefreshToken: false, rules: rules, now: now)
        accessTokens[tokens.accessToken]?.audience = target.audience
        return .issued(tokens)
    }
}

// MARK: - Using

extension GrantLedger {
    /// Whom an access token stands for.
    enum Holder: Equatable, Sendable {
        case user(String, scope: Scope)
        case expired
        /// Never issued, issued for the other API, or its grant has ended.
        case unknown
    }

    /// Looks a token up for a request that uses it.
    mutating func use(_ token: String, kind: Grant.Kind, now: Date) -> Holder {
        let holder = holder(of: token, kind: kind, now: now)
        if case .user = holder, let spent = accessTokens[token]?.spendsAtFirstUse {
            accessTokens[token]?.spendsAtFirstUse = nil
            spend(spent)
        }
        return holder
    }

    func holder(of token: String, kind: Grant.Kind, now: Date) -> Holder {
        guard let held = accessTokens[token], let grant = grants[held.grantID] else { return .unknown }
        guard grant.kind == kind, !grant.isEnded else { return .unknown }
        if let expiresAt = held.expiresAt, expiresAt <= now { return .expired }
        return .user(grant.username, scope: held.scope)
    }
}

// MARK: - Ending

extension GrantLedger {
    /// Ends the grant that an access or refresh token belongs to; or the token alone, if the rules say so.
    ///
    /// Source: RFC 7009, section 2.1. A token that is not known is *not* an error.
    ///
    /// - Returns: whether there was a grant to end.
    mutating func end(byToken token: String, kind: Grant.Kind, rules: TokenRules = TokenRules()) -> Bool {
        guard let id = accessTokens[token]?.grantID ?? refreshTokens[token]?.grantID else { return false }
        guard let grant = grants[id], grant.kind == kind, !grant.isEnded else { return false }
        if rules.revocationEndsSignIn {
            grants[id]?.isEnded = true
        } else {
            accessTokens[token] = nil
            refreshTokens[token] = nil
        }
        return true
    }

    /// Ends all grants of one user, or of everyone, in both APIs.
    ///
    /// - Returns: how many were still open.
    mutating func endAll(of username: String?) -> Int {
        let open = grants.filter { !$0.value.isEnded && (username == nil || $0.value.username == username) }
        for id in open.keys {
            grants[id]?.isEnded = true
        }
        return open.count
    }

    /// Lets every access token expire that has an end; sessions of the app's own backend have none.
    ///
    /// - Returns: how many were still valid.
    mutating func expireAccessTokens(now: Date) -> Int {
        let valid = accessTokens.filter { ($0.value.expiresAt ?? .distantPast) > now }
        for token in valid.keys {
            accessTokens[token]?.expiresAt = .distantPast
        }
        return valid.count
    }
}

// MARK: - Looking

/// A token that someone could use now; not the token itself.
struct LiveToken: Encodable, Equatable, Sendable {
    enum Kind: String, Encodable {
        case access
        case refresh
    }

    let user: String
    let kind: Kind
    let scope: String
    /// The resources that the request named which brought it; of a refresh token, those it may bring tokens for.
    let resources: [String]
    let audience: String?
}

extension GrantLedger {
    /// The tokens of one user, or of everyone, that are neither ended nor spent nor expired, in both APIs.
    func liveTokens(of username: String?, now: Date) -> [LiveToken] {
        func token(
            _ kind: LiveToken.Kind, _ grantID: String, _ scope: Scope?, _ resources: [String]?,
            _ audience: String? = nil
        ) -> LiveToken? {
            guard let grant = grants[grantID], !grant.isEnded, username == nil || grant.username == username else {
                return nil
            }
            return LiveToken(
                user: grant.username,
                kind: kind,
                scope: (scope ?? grant.scope).text,
                resources: resources ?? grant.target.resources,
                audience: audience ?? grant.target.audience
            )
        }
        let access = accessTokens.values.filter { ($0.expiresAt ?? .distantFuture) > now }
        let refresh = refreshTokens.values.filter { !$0.isSpent }
        return access.compactMap { token(.access, $0.grantID, $0.scope, $0.resources, $0.audience) }
            + refresh.compactMap { token(.refresh, $0.grantID, nil, nil) }
    }
}
