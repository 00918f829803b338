import AccountKit
import AccountSupport

/// The rules for an issuer that an API named, instead of the app or the user.
struct APIOrigin: Sendable {
    /// The URL of the API, as the user or the app wrote it.
    let url: ServiceURL

    /// The API that named the issuer; `nil` if the user or the app named the issuer.
    var namer: ServiceURL?

    /// The scopes that the API named; `nil` if it named none.
    var scopes: [String]?

    /// Scopes to request only if the service lists them, because only AccountKit chose them.
    var tentativeScopes: Set<String> = []

    /// Whether the user or the app chose the issuer.
    var isIssuerGiven = false

    func limited(_ scopes: [String], _ documents: ServiceDocuments) async throws(AuthorityError) -> [String] {
        guard !tentativeScopes.isEmpty else { return scopes }
        let listed = try await documents.scopes() ?? []
        return scopes.filter { !tentativeScopes.contains($0) || listed.contains($0) }
    }

    /// Without PKCE, another program on this machine could use the code (RFC 8252, section 8.1).
    func checkChallengeMethods(
        in document: ServiceDocument, of issuer: String, _ quirks: ServiceQuirks
    ) throws(AuthorityError) {
        guard !isIssuerGiven, !quirks.supportsPKCE, document.challengeMethods?.contains("S256") != true else { return }
        throw .misconfigured(
            "the discovery document of \(issuer) does not list PKCE with S256 (code_challenge_methods_supported), which protects a "
                + "sign-in with the browser; if you trust this service, name it yourself (on a command line, with --issuer)"
        )
    }
}

extension OAuthAuthority {
    /// Returns the user info endpoint that is stored with the account; `nil` if this process has read the metadata, or if
    /// user info cannot identify the user.
    func storedUserInfo(of credentials: Credentials) -> ServiceURL? {
        guard !documents.isKnown, !credentials.isForAPIOnly else { return nil }
        return credentials.tokenEndpoint.flatMap { discovery.userInfo($0, at: clock.now) }
    }

    /// Whether the token was requested without the scope `openid`, which user info requires (OpenID Connect Core, section
    /// 5.3.1). Without it, some services identify the user, and others respond `invalid_token` to a valid token.
    func lacksOpenID(_ credentials: Credentials) -> Bool {
        !(api == nil || service != nil || credentials.idToken != nil || credentials.scopes.contains("openid"))
    }

    /// Returns whether a sign-in continues after user info did not identify the user. A session for an API needs no user,
    /// and its token may be for the API only (RFC 8707, section 2).
    func needsNoUser(after failure: AuthorityError) -> Bool {
        switch failure {
        case .noResponse(.cancelled), .otherUser, .signInRefused: false
        case .bearerChallenge, .unauthorized, .forbidden: api != nil || !options.resources.isEmpty || namesAPIInScopes
        default: api != nil
        }
    }

    /// Whether the token may be for an API that only the scopes name, and then not for user info.
    private var namesAPIInScopes: Bool {
        quirks.refusesResource && scopes.contains { !Scope.ofOpenID.contains($0) && $0 != Scope.offlineAccess }
    }

    /// Returns whether a failure of user info leaves open whether the session of an API works, so that the API itself
    /// decides. An unreachable service does not: the user is offline.
    func leavesOpen(_ failure: AuthorityError, _ credentials: Credentials) -> Bool {
        guard api != nil else { return false }
        return switch failure {
        case .unavailable, .intercepted, .unclear, .forbidden, .misconfigured, .badRequest: true
        case .bearerChallenge, .unauthorized: lacksOpenID(credentials)
        default: false
        }
    }
}
