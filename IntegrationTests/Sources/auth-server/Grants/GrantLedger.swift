#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// All grants and tokens, and the rules for issuing and ending them.
///
/// A value type without side effects: the caller passes the time and keeps the result.
struct GrantLedger: Codable, Equatable, Sendable {
    private(set) var grants: [String: Grant] = [:]
    private(set) var accessTokens: [String: AccessToken] = [:]
    private var refreshTokens: [String: RefreshToken] = [:]

    /// Opens a grant for the OAuth endpoints, and issues its first tokens.
    ///
    /// - Parameter resources: The resources of the first access token.
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
        if let limit = rules.signInLimit { endOldest(of: username, scope, keeping: limit - 1) }
        grants[id] = Grant(kind: .oauth, username: username, scope: scope, target: target, order: grants.count)
        return issue(
            for: id, scope: scope, resources: resources, withRefreshToken: withRefreshToken, rules: rules, now: now)
    }

    /// Ends the oldest grants of a user with a scope.
    private mutating func endOldest(of username: String, _ scope: Scope, keeping count: Int) {
        let open = grants.filter { $0.value.username == username && $0.value.scope == scope && !$0.value.isEnded }
            .sorted { ($0.value.order ?? 0) < ($1.value.order ?? 0) }
        for (id, _) in open.dropLast(count) { grants[id]?.isEnded = true }
    }

    /// Opens a session of the app's own backend, which has one token and does not expire.
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
    /// The result of a refresh.
    enum Refresh: Equatable, Sendable {
        case issued(TokenSet)
        /// The token was spent before, so the server has just revoked all tokens of its grant.
        case reused
        /// The token was spent before, and its grant stays valid.
        case spent
        /// The token is unknown, or its grant has ended.
        case rejected
        /// The requested scope exceeds the granted one. The token has not been spent.
        case scopeTooWide
        /// A requested resource was not granted. The token has not been spent.
        case resourceTooWide
    }

    /// Exchanges a refresh token for new tokens.
    ///
    /// Source: RFC 6749, section 6; RFC 9700, section 4.14.2 (rotation, and ending the family on reuse). By default,
    /// earlier access tokens stay valid until they expire; the rules can end them sooner.
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

    /// Spends a refresh token and the access token that was issued with it.
    private mutating func spend(_ token: String) {
        guard let held = refreshTokens[token] else { return }
        refreshTokens[token]?.isSpent = true
        accessTokens[held.accessToken] = nil
    }
}

extension GrantLedger {
    /// The scope of the grant of a refresh token.
    func scope(ofRefreshToken token: String) -> Scope? { refreshTokens[token].flatMap { grants[$0.grantID]?.scope } }

    /// Spends a refresh token without issuing another.
    mutating func spendUnexchanged(_ token: String) { refreshTokens[token]?.isSpent = true }
}

// MARK: - Exchanging

extension GrantLedger {
    /// The result of a token exchange.
    enum Exchange: Equatable, Sendable {
        case issued(TokenSet)
        /// The token is unknown or expired, or its grant has ended.
        case rejected
        /// The requested scope exceeds the token's scope.
        case scopeTooWide
    }

    /// Issues an access token of the same grant for another target, in addition to the presented token (RFC 8693).
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
    /// The holder of an access token.
    enum Holder: Equatable, Sendable {
        case user(String, scope: Scope)
        case expired
        /// The token was never issued, belongs to the other API, or its grant has ended.
        case unknown
    }

    /// Looks up a token for a request that uses it.
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

// MARK: - Binding

extension GrantLedger {
    /// The thumbprint of the key that an access or refresh token is bound to, if any.
    func thumbprint(of token: String) -> String? {
        (accessTokens[token]?.grantID ?? refreshTokens[token]?.grantID).flatMap { grants[$0]?.thumbprint }
    }

    /// Binds the grant of an access token to a key.
    mutating func bind(_ accessToken: String, to thumbprint: String) {
        if let id = accessTokens[accessToken]?.grantID { grants[id]?.thumbprint = thumbprint }
    }
}

// MARK: - Ending

extension GrantLedger {
    /// Ends the grant of an access or refresh token, or only the token if the rules require this.
    ///
    /// Source: RFC 7009, section 2.1. An unknown token is *not* an error.
    ///
    /// - Returns: Whether the grant was still open.
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

    /// Ends all grants of one user, or of all users, in both APIs.
    ///
    /// - Returns: The number of grants that were still open.
    mutating func endAll(of username: String?) -> Int {
        let open = grants.filter { !$0.value.isEnded && (username == nil || $0.value.username == username) }
        for id in open.keys {
            grants[id]?.isEnded = true
        }
        return open.count
    }

    /// Expires all access tokens, except tokens without an expiry, such as sessions of the app's own backend.
    ///
    /// - Returns: The number of tokens that were still valid.
    mutating func expireAccessTokens(now: Date) -> Int {
        let valid = accessTokens.filter { ($0.value.expiresAt ?? .distantPast) > now }
        for token in valid.keys {
            accessTokens[token]?.expiresAt = .distantPast
        }
        return valid.count
    }
}

// MARK: - Inspecting

/// A description of a valid token, without the token itself.
struct LiveToken: Encodable, Equatable, Sendable {
    enum Kind: String, Encodable {
        case access
        case refresh
    }

    let user: String
    let kind: Kind
    let scope: String
    /// The resources of the token request. For a refresh token, the resources that it can request tokens for.
    let resources: [String]
    let audience: String?
}

extension GrantLedger {
    /// The valid tokens of one user, or of all users, in both APIs.
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
