import AccountKit

/// The rules for an issuer that an API named, instead of the app or the user.
struct APIOrigin: Sendable {
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
    func checkChallengeMethods(in document: ServiceDocument, of issuer: String) throws(AuthorityError) {
        guard !isIssuerGiven, document.challengeMethods?.contains("S256") != true else { return }
        throw .misconfigured(
            "the discovery document of \(issuer) does not list PKCE with S256 (code_challenge_methods_supported), which protects a "
                + "sign-in with the browser; if you trust this service, name it yourself (on a command line, with --issuer)"
        )
    }
}

extension OAuthAuthority {
    /// Whether the user info endpoint can identify the user of a token. It requires the scope `openid` (OpenID Connect
    /// Core, section 5.3.1), which an API may not name. Some services respond `invalid_token` without it.
    func asksUserInfo(with credentials: Credentials) async throws(AuthorityError) -> Bool {
        guard try await documents.endpoint(.userInfo) != nil else { return false }
        return !credentials.isForAPIOnly && !lacksOpenID(credentials)
    }

    /// Returns the user info endpoint that is stored with the account; `nil` if this process has read the metadata, or if
    /// user info cannot identify the user.
    func storedUserInfo(of credentials: Credentials) -> ServiceURL? {
        guard !documents.isKnown, !credentials.isForAPIOnly, !lacksOpenID(credentials) else { return nil }
        return credentials.tokenEndpoint.flatMap { discovery.userInfo($0, at: clock.now) }
    }

    private func lacksOpenID(_ credentials: Credentials) -> Bool {
        !(api == nil || service != nil || credentials.idToken != nil || credentials.scopes.contains("openid"))
    }

    /// Whether user info may have refused a new token only because the token is for another API (RFC 8707, section 2).
    func mayBeForAPIOnly(_ failure: AuthorityError) -> Bool {
        guard api != nil, !options.resources.isEmpty else { return false }
        switch failure {
        case .bearerChallenge, .unauthorized, .forbidden: return true
        default: return false
        }
    }
}
