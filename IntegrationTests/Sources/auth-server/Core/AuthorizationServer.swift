#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The server's state and all operations on it.
///
/// One actor contains all state, and the rules are in the value types that make up the state. A change is written to
/// the state file before any response reports it, so a restart never loses a token that a client has received.
actor AuthorizationServer {
    nonisolated let settings: ServerSettings
    nonisolated let clock: ServerClock
    /// The gates that hold responses.
    nonisolated let gates = Gates()
    private let file: StateFile?
    private(set) var state: ServerState
    private var controls = Controls()
    private var log = RequestLog()
    private var proofs = ProofLedger()
    /// The pushed requests by their URI (RFC 9126).
    private var pushed: [String: [String: String]] = [:]
    /// The controls of the gists API.
    var gistControls = GistControls()

    /// - Parameter file: The file that keeps the state across restarts. Without a file, the state ends with the
    ///   process.
    /// - Throws: `StateFile.Failure` if the state file exists but cannot be used.
    init(settings: ServerSettings, clock: ServerClock, file: StateFile? = nil) throws {
        self.settings = settings
        self.clock = clock
        self.file = file
        state = try file?.load() ?? ServerState()
    }

    /// Changes and saves the state. A change that throws has no effect.
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
    /// Source: RFC 6749, section 4.3. RFC 9700 advises against this grant, but an example without a browser still uses
    /// it.
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

    /// Issues an access token to the client itself, without a user and without a refresh token.
    ///
    /// Source: RFC 6749, section 4.4.
    func issueTokens(toClient clientID: String, scope: Scope, target: Target) throws -> TokenSet {
        try target.requireAudience(settings: settings)
        let (rules, now) = (tokenRules, clock.now)
        return try update { state in
            state.grants.open(
                for: clientID, scope: scope, target: target, resources: target.resources, withRefreshToken: false,
                rules: rules, now: now)
        }
    }

    /// Exchanges a refresh token for new tokens.
    ///
    /// - Parameters:
    ///   - token: The refresh token.
    ///   - scope: A part of the granted scope, or `nil` for all of it.
    ///   - target: The target of the new access token.
    func refresh(_ token: String, scope: Scope?, target: Target) throws -> TokenSet {
        let (rules, now) = (tokenRules, clock.now)
        let resources = target.resources
        let scope =
            scope
            ?? state.grants.scope(ofRefreshToken: token).flatMap { settings.personality.scopeOfPlainRefresh(of: $0) }
        switch try update({
            $0.grants.refresh(token, scope: scope, resources: resources, rules: rules, now: now)
        }) {
        case .issued(let tokens):
            if tokens.refreshToken != nil { log.countRotation() }
            return tokens
        case .reused:
            log.countReuseAlarm()
            let explanation = "refresh token was used before; all tokens of this sign-in are revoked"
            throw OAuthError(.invalidGrant, explanation, credential: .spentRefreshToken)
        case .spent:
            throw OAuthError(.invalidGrant, "refresh token was used before", credential: .spentRefreshToken)
        case .rejected:
            throw OAuthError(.invalidGrant, "refresh token is unknown or revoked", credential: .refreshToken)
        case .scopeTooWide:
            throw OAuthError(.invalidScope, "scope exceeds what was granted")
        case .resourceTooWide:
            throw OAuthError(.invalidTarget, "resource exceeds what was granted")
        }
    }

    /// Exchanges an access token for a token for another audience.
    ///
    /// Source: RFC 8693, section 2.2.2: an invalid token makes the request invalid.
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

    /// The ID token of a session, or `nil` if its scope does not include one.
    func idToken(for signIn: SignIn, to clientID: String, origin: Origin) throws -> String? {
        let personality = settings.personality
        let claims = signIn.idTokenClaims(
            issuer: personality.issuer(for: origin),
            subject: personality.subject(signIn.user),
            audience: clientID,
            now: clock.now
        )
        guard let claims else { return nil }
        return try state.signingKey.sign(altered(personality.idTokenClaims(claims, origin), of: .idToken))
    }

    /// The key with which clients verify ID tokens.
    var publicKey: JSONObject { state.signingKey.publicKey }

    /// Ends the grant of an access or refresh token. An unknown token is an error only at some services.
    func revoke(_ token: String) throws {
        let rules = tokenRules
        let isKnown = try update { $0.grants.end(byToken: token, kind: .oauth, rules: rules) }
        guard isKnown || !settings.personality.refusesToRevokeUnknownTokens else {
            throw OAuthError(.invalidToken, "token is unknown or revoked")
        }
    }

    /// The user info for the holder of an access token.
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
            guard !settings.personality.isForAPI(scope) else {
                throw BearerChallenge(.invalidToken, "the token is for another API")
            }
            guard let claims = settings.personality.userInfo(of: user, scope: scope) else {
                throw BearerChallenge(.insufficientScope, "scope openid is needed")
            }
            return claims
        }
    }

    private var tokenRules: TokenRules {
        var rules = settings.personality.tokenRules(settings)
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
            settings.personality.bringsRefreshToken(scope: scope, browserParameters: browserParameters)
        }
    }
}

// MARK: - Browsers

extension AuthorizationServer {
    /// Issues a code for a request that the user has approved, or returns `nil` if the user name or password is wrong.
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

    /// Exchanges a code for tokens. The second use of a code ends the session.
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

    /// The user who approved the request. After a restart with other users, the user may not exist.
    private func user(named username: String) throws -> User {
        guard let user = settings.users[username] else { throw OAuthError(.invalidGrant, "user no longer exists") }
        return user
    }
}

extension AuthorizationServer {
    /// Keeps a pushed request, and returns its URI.
    ///
    /// Source: RFC 9126, section 2.2.
    func push(_ parameters: [String: String]) -> String {
        let uri = "urn:ietf:params:oauth:request_uri:" + RandomText.token(prefix: "")
        pushed[uri] = parameters
        return uri
    }

    /// Returns the parameters of a request to the authorization endpoint: its own, or those that were pushed.
    ///
    /// Source: RFC 9126, section 4.
    ///
    /// - Parameter isForm: Whether the request comes from the form of this endpoint, which contains the pushed parameters.
    func parameters(of request: [String: String], isForm: Bool) throws -> [String: String] {
        guard let uri = request["request_uri"] else {
            guard isForm || !settings.personality.requiresPushedRequests else {
                throw OAuthError(.invalidRequest, "the request must be pushed")
            }
            return request
        }
        guard let parameters = pushed[uri], parameters["client_id"] == request["client_id"] else {
            throw OAuthError(.invalidRequest, "request_uri is unknown")
        }
        return parameters.merging(request.filter { AuthorizationPage.ownFields.contains($0.key) }) { _, own in own }
    }

    /// Spends a refresh token whose proof was refused.
    func spend(_ refreshToken: String) throws { try update { $0.grants.spendUnexchanged(refreshToken) } }
}

// MARK: - Devices

extension AuthorizationServer {
    /// Starts a sign-in that the user approves on another device.
    func beginDeviceAuthorization(scope: Scope, target: Target) throws -> (deviceCode: String, userCode: String) {
        try target.requireAudience(settings: settings)
        let (lifetime, interval) = (settings.deviceCodeLifetime, settings.deviceInterval)
        let now = clock.now
        return try update {
            $0.devices.begin(scope: scope, target: target, lifetime: lifetime, interval: interval, now: now)
        }
    }

    /// Records the user's decision on the approval page.
    ///
    /// - Returns: Whether the password was correct and a device was waiting for the code.
    func decide(userCode: String, username: String, password: String, approves: Bool) throws -> Bool {
        guard let user = settings.users.user(named: username, password: password) else { return false }
        let decision = approves ? DeviceAuthorization.Decision.approved(username: user.username) : .denied
        let now = clock.now
        return try update { $0.devices.decide(decision, userCode: userCode, now: now) }
    }

    /// The response to a device's request for tokens.
    func redeem(deviceCode: String, target: Target) throws -> SignIn {
        let now = clock.now
        switch try update({ $0.devices.poll(deviceCode, now: now) }) {
        case .pending: throw OAuthError(.authorizationPending, "the user has not approved or denied the sign-in yet")
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
    /// Opens a session, or returns `nil` if the user name or password is wrong.
    func openAppSession(username: String, password: String) throws -> (user: User, token: String)? {
        guard let user = settings.users.user(named: username, password: password) else { return nil }
        return (user, try update { $0.grants.openAppSession(for: user.username) })
    }

    /// The user of a session, or `nil` if the session does not exist or has ended.
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
    /// Expires all access tokens; see `GrantLedger`.
    func expireAccessTokens() throws -> Int {
        let now = clock.now
        return try update { $0.grants.expireAccessTokens(now: now) }
    }

    /// Ends all grants of one user, or of all users.
    func endGrants(of username: String?) throws -> Int {
        try update { $0.grants.endAll(of: username) }
    }

    /// Returns the valid tokens of a user, or of all users if `username` is `nil`.
    func liveTokens(of username: String?) -> [LiveToken] {
        state.grants.liveTokens(of: username, now: clock.now)
    }

    func updateControls<Outcome>(_ change: @Sendable (inout Controls) -> Outcome) -> Outcome {
        change(&controls)
    }

    /// A response after the active alterations.
    func altered(_ response: JSONObject, of kind: Controls.AlterableResponse) -> JSONObject {
        controls.alterations[kind]?.applied(to: response) ?? response
    }

    func updateProofs<Outcome>(_ change: (inout ProofLedger) throws -> Outcome) rethrows -> Outcome {
        try change(&proofs)
    }

    func updateLog<Outcome>(_ change: @Sendable (inout RequestLog) -> Outcome) -> Outcome {
        change(&log)
    }
}
