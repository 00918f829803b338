#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Everything the server knows, and what may be done with it.
///
/// One actor holds all state; the rules are in the value types it is made of. A change is in the state file before
/// anyone hears of it: a response never promises a token that a restart would forget.
actor AuthorizationServer {
    nonisolated let settings: ServerSettings
    nonisolated let clock: ServerClock
    /// Where responses are held.
    nonisolated let gates = Gates()
    private let file: StateFile?
    private(set) var state: ServerState
    private var controls = Controls()
    private var log = RequestLog()
    /// What belongs to the gists API.
    var gistControls = GistControls()

    /// - Parameter file: where the state is kept between two runs; without one it ends with the process.
    /// - Throws: `StateFile.Failure` when there is a state file that cannot be used.
    init(settings: ServerSettings, clock: ServerClock, file: StateFile? = nil) throws {
        self.settings = settings
        self.clock = clock
        self.file = file
        state = try file?.load() ?? ServerState()
    }

    /// Changes the state, and keeps the change; one that throws has not happened.
    func update<Outcome>(_ change: (inout ServerState) throws -> Outcome) throws -> Outcome {
        var next = state
        let outcome = try change(&next)
        if next != state {
            try file?.save(next)
            state = next
        }
        return outcome
    }
}

// MARK: - OAuth 2.0

extension AuthorizationServer {
    /// Signs a user in with a password.
    ///
    /// Source: RFC 6749, section 4.3. RFC 9700 advises against this grant; an example without a browser still uses it.
    func signIn(username: String, password: String, scope: Scope, target: Target) throws -> SignIn {
        try target.requireAudience(settings: settings)
        guard let user = settings.users.user(named: username, password: password) else {
            throw OAuthError(.invalidGrant, "wrong username or password", credential: .password)
        }
        return SignIn(
            tokens: try open(for: user.username, scope: scope, target: target, resources: target.resources),
            user: user,
            signedInAt: clock.now
        )
    }

    /// Exchanges a refresh token for new tokens.
    ///
    /// - Parameters:
    ///   - token: the refresh token.
    ///   - scope: a part of the scope that was granted, or `nil` for all of it.
    ///   - target: what the new access token is for.
    func refresh(_ token: String, scope: Scope?, target: Target) throws -> TokenSet {
        let (rules, now) = (tokenRules, clock.now)
        let resources = target.resources
        switch try update({
            $0.grants.refresh(token, scope: scope, resources: resources, rules: rules, now: now)
        }) {
        case .issued(let tokens):
            if tokens.refreshToken != nil { log.countRotation() }
            return tokens
        case .reused:
            log.countReuseAlarm()
            let explanation = "refresh token was used before; all tokens of this sign-in are revoked"
            throw OAuthError(.invalidGrant, explanation, credential: .refreshToken)
        case .spent:
            throw OAuthError(.invalidGrant, "refresh token was used before", credential: .refreshToken)
        case .rejected:
            throw OAuthError(.invalidGrant, "refresh token is unknown or revoked", credential: .refreshToken)
        case .scopeTooWide:
            throw OAuthError(.invalidScope, "scope exceeds what was granted")
        case .resourceTooWide:
            throw OAuthError(.invalidTarget, "resource exceeds what was granted")
        }
    }

    /// Exchanges an access token for one for another audience.
    ///
    /// Source: RFC 8693, section 2.2.2: what is wrong with the token is an invalid request.
    func exchange(_ token: String, scope: Scope?, target: Target) throws -> TokenSet {
        guard let audience = target.audience, settings.exchangeAudiences.contains(audience) else {
            throw OAuthError(.invalidTarget, "audience is missing or not known")
        }
        let (rules, now) = (tokenRules, clock.now)
        switch try update({ $0.grants.exchange(token, scope: scope, target: target, rules: rules, now: now) }) {
        case .issued(let tokens): return tokens
        case .rejected: throw OAuthError(.invalidRequest, "subject_token is not valid")
        case .scopeTooWide: throw OAuthError(.invalidScope, "scope exceeds what the subject_token has")
        }
    }

    /// The ID token of a sign-in, or `nil` when its scope has none.
    func idToken(for signIn: SignIn, origin: Origin) throws -> String? {
        let quirks = settings.quirks
        let claims = signIn.idTokenClaims(
            issuer: quirks.issuer(for: origin),
            subject: quirks.subject(of: signIn.user),
            audience: settings.clientID,
            now: clock.now
        )
        guard let claims else { return nil }
        return try state.signingKey.sign(altered(quirks.idTokenClaims(claims, origin: origin), of: .idToken))
    }

    /// What clients check ID tokens with.
    var publicKey: JSONObject { state.signingKey.publicKey }

    /// Ends the grant of an access or refresh token; an unknown token is fine, except at some services.
    func revoke(_ token: String) throws {
        let rules = tokenRules
        let isKnown = try update { $0.grants.end(byToken: token, kind: .oauth, rules: rules) }
        guard isKnown || !settings.quirks.refusesToRevokeUnknownTokens else {
            throw OAuthError(.invalidToken, "token is unknown or revoked")
        }
    }

    /// What the user info endpoint says to the holder of an access token.
    func claims(forAccessToken token: String) throws -> JSONObject {
        let now = clock.now
        switch try update({ $0.grants.use(token, kind: .oauth, now: now) }) {
        case .expired:
            throw BearerChallenge(.invalidToken, "access token expired")
        case .unknown:
            throw BearerChallenge(.invalidToken, "access token is unknown or revoked")
        case .user(let username, let scope):
            guard let user = settings.users[username] else {
                throw BearerChallenge(.invalidToken, "user no longer exists")
            }
            guard let claims = settings.quirks.userInfo(of: user, scope: scope) else {
                throw BearerChallenge(.insufficientScope, "scope openid is needed")
            }
            return claims
        }
    }

    private var tokenRules: TokenRules {
        var rules = settings.quirks.tokenRules(settings)
        rules.revocationEndsSignIn = settings.revocationEndsSignIn
        return rules
    }

    private func open(for username: String, scope: Scope, target: Target, resources: [String]) throws -> TokenSet {
        let (rules, now) = (tokenRules, clock.now)
        let withRefreshToken = bringsRefreshToken(scope: scope, browserParameters: nil)
        return try update { state in
            state.grants.open(
                for: username,
                scope: scope,
                target: target,
                resources: resources,
                withRefreshToken: withRefreshToken,
                rules: rules,
                now: now
            )
        }
    }

    private func bringsRefreshToken(scope: Scope, browserParameters: [String: String]?) -> Bool {
        switch settings.refreshTokens {
        case .never: false
        case .offlineAccess where !scope.contains("offline_access"): false
        case .always, .offlineAccess:
            settings.quirks.bringsRefreshToken(scope: scope, browserParameters: browserParameters)
        }
    }
}

// MARK: - Browsers

extension AuthorizationServer {
    /// Issues a code for what a user agreed to, or returns `nil` when the name or password is wrong.
    func authorize(_ request: AuthorizationRequest, username: String, password: String) throws -> String? {
        guard let user = settings.users.user(named: username, password: password) else { return nil }
        let now = clock.now
        let code = AuthorizationCode(
            username: user.username,
            scope: request.scope,
            target: request.target,
            redirectURI: request.redirectURI.text,
            challenge: request.challenge,
            nonce: request.nonce,
            bringsRefreshToken: bringsRefreshToken(
                scope: request.scope,
                browserParameters: request.parameters
            ),
            signedInAt: now,
            expiresAt: now.addingTimeInterval(TimeInterval(settings.authorizationCodeLifetime))
        )
        return try update { $0.codes.issue(code) }
    }

    /// Exchanges a code for tokens. A code that comes back ends the sign-in that it began.
    ///
    /// Source: RFC 6749, sections 4.1.2 and 4.1.3.
    func redeem(code: String, redirectURI: String, verifier: String, target: Target) throws -> SignIn {
        let now = clock.now
        switch state.codes.redemption(of: code, redirectURI: redirectURI, verifier: verifier, now: now) {
        case .valid(let authorization):
            let user = try self.user(named: authorization.username)
            try target.requireResources(among: authorization.target)
            let rules = tokenRules
            let tokens = try update { state in
                let tokens = state.grants.open(
                    for: user.username,
                    scope: authorization.scope,
                    target: authorization.target,
                    resources: target.resources,
                    withRefreshToken: authorization.bringsRefreshToken,
                    rules: rules,
                    now: now
                )
                state.codes.spend(code, for: tokens.accessToken)
                return tokens
            }
            return SignIn(
                tokens: tokens,
                user: user,
                nonce: authorization.nonce,
                signedInAt: authorization.signedInAt
            )
        case .reused(let accessToken):
            _ = try update { $0.grants.end(byToken: accessToken, kind: .oauth) }
            let explanation = "code was used before; all tokens of this sign-in are revoked"
            throw OAuthError(.invalidGrant, explanation, credential: .code)
        case .expired:
            throw OAuthError(.invalidGrant, "code expired", credential: .code)
        case .mismatch:
            let explanation = "code is for another redirect_uri or code_verifier"
            throw OAuthError(.invalidGrant, explanation, credential: .code)
        case .unknown:
            throw OAuthError(.invalidGrant, "code is unknown", credential: .code)
        }
    }

    /// The user who agreed; a server that was started anew may no longer know all of them.
    private func user(named username: String) throws -> User {
        guard let user = settings.users[username] else { throw OAuthError(.invalidGrant, "user no longer exists") }
        return user
    }
}

// MARK: - Devices

extension AuthorizationServer {
    /// Begins a sign-in that the user agrees to on another device.
    func beginDeviceAuthorization(scope: Scope, target: Target) throws -> (deviceCode: String, userCode: String) {
        try target.requireAudience(settings: settings)
        let (lifetime, interval) = (settings.deviceCodeLifetime, settings.deviceInterval)
        let now = clock.now
        return try update {
            $0.devices.begin(scope: scope, target: target, lifetime: lifetime, interval: interval, now: now)
        }
    }

    /// Records what a user decided on the approval page.
    ///
    /// - Returns: whether the password was right and a device was waiting for the code.
    func decide(userCode: String, username: String, password: String, approves: Bool) throws -> Bool {
        guard let user = settings.users.user(named: username, password: password) else { return false }
        let decision = approves ? DeviceAuthorization.Decision.approved(username: user.username) : .denied
        let now = clock.now
        return try update { $0.devices.decide(decision, userCode: userCode, now: now) }
    }

    /// What a device gets that asks for its tokens.
    func redeem(deviceCode: String, target: Target) throws -> SignIn {
        let now = clock.now
        switch try update({ $0.devices.poll(deviceCode, now: now) }) {
        case .pending: throw OAuthError(.authorizationPending, "the user has not decided yet")
        case .slowDown(let interval):
            throw OAuthError(.slowDown, "wait five seconds longer between two polls", interval: interval)
        case .expired: throw OAuthError(.expiredToken, "device code expired")
        case .denied: throw OAuthError(.accessDenied, "the user refused")
        case .unknown: throw OAuthError(.invalidGrant, "device code is unknown or used", credential: .deviceCode)
        case .approved(let username, let scope, let granted):
            try target.requireResources(among: granted)
            let tokens = try open(for: username, scope: scope, target: granted, resources: target.resources)
            return SignIn(tokens: tokens, user: try user(named: username))
        }
    }
}

// MARK: - The app's own backend

extension AuthorizationServer {
    /// Opens a session, or returns `nil` when the name or password is wrong.
    func openAppSession(username: String, password: String) throws -> (user: User, token: String)? {
        guard let user = settings.users.user(named: username, password: password) else { return nil }
        return (user, try update { $0.grants.openAppSession(for: user.username) })
    }

    /// The user of a session, or `nil` when there is no such session any more.
    func user(ofAppSession token: String) -> User? {
        guard case .user(let username, _) = state.grants.holder(of: token, kind: .app, now: clock.now) else {
            return nil
        }
        return settings.users[username]
    }

    func closeAppSession(_ token: String) throws {
        _ = try update { $0.grants.end(byToken: token, kind: .app) }
    }
}

// MARK: - Control

extension AuthorizationServer {
    /// Lets every access token expire; see `GrantLedger`.
    func expireAccessTokens() throws -> Int {
        let now = clock.now
        return try update { $0.grants.expireAccessTokens(now: now) }
    }

    /// Ends all grants of one user, or of everyone.
    func endGrants(of username: String?) throws -> Int {
        try update { $0.grants.endAll(of: username) }
    }

    /// The tokens that someone could use now.
    func liveTokens(of username: String?) -> [LiveToken] {
        state.grants.liveTokens(of: username, now: clock.now)
    }

    func updateControls<Outcome>(_ change: @Sendable (inout Controls) -> Outcome) -> Outcome {
        change(&controls)
    }

    /// A response as it is to be sent, after the alterations that are in force for it.
    func altered(_ response: JSONObject, of kind: Controls.AlterableResponse) -> JSONObject {
        controls.alterations[kind]?.applied(to: response) ?? response
    }

    func updateLog<Outcome>(_ change: @Sendable (inout RequestLog) -> Outcome) -> Outcome {
        change(&log)
    }
}
