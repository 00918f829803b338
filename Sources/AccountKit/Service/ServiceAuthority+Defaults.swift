extension ServiceAuthority {
    package var passwordWay: (any PasswordAuthority)? { nil }
    package var tokenWay: (any TokenAuthority)? { nil }
    package var deviceWay: (any DeviceAuthority)? { nil }
    package var browserWay: (any BrowserAuthority)? { nil }
    package var clientWay: (any ServiceAuthority)? { nil }

    package func preparePasswordSignIn() async throws {}

    package func signInAsClient() async throws -> Account {
        throw AuthorityError.misconfigured("this service offers no sign-in without a user")
    }

    package func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError? { nil }
    package func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice? { nil }
    package func signInScopes() async -> [String] { [] }
    package func endSessionURL() async -> String? { nil }

    package var hasRejectedRegistration: Bool { false }
    package var hasReplacedRegistration: Bool { false }

    package func removeRegistration(
        of account: Account, unless isUsed: @concurrent @Sendable () async throws -> Bool
    ) async throws(AccountError) {}

    package func removeReplacedRegistration(
        unless isUsed: @concurrent @Sendable (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {}

    package var namingAPI: String? { nil }
    package func authorizationServers() async throws(AccountError) -> [String] { [] }
    package func choosing(issuer: String) -> any ServiceAuthority { self }
    package func signInService() async throws(AccountError) -> SignInService? { nil }
    package func signInResources() async throws(AccountError) -> [String] { [] }
    package var unmetRequirement: AccessRequirement? { nil }
    package var unusedTokenLifetime: Duration? { nil }
    package func audienceProblem(of credentials: Credentials) -> AccountError? { nil }
    package func requiresClientID() async throws(AccountError) -> Bool { false }
    package func serviceDocumentation() async throws(AccountError) -> String? { nil }
    package func requirement(for account: Account) async throws(AccountError) -> AccessRequirement? { nil }

    package func adding(
        _ requirement: AccessRequirement, grantedTo account: Account
    ) throws(AccountError) -> any ServiceAuthority {
        throw AccountError(.misconfigured, "this tool cannot sign in for further permissions")
    }

    package func prepare(_ request: TokenRequest, of account: Account) async throws -> any PreparedExchange {
        UnpreparedExchange(authority: self, request: request, account: account)
    }

    package var derivesTokens: Bool { false }

    package func tokenDerivation(for target: TokenTarget, of account: Account) async throws -> TokenDerivation {
        throw AuthorityError.derivesNoTokens
    }

    package func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws -> Credentials {
        throw AuthorityError.derivesNoTokens
    }

    package func proof(of credentials: Credentials, method: String, url: String, nonce: String?) throws -> String? {
        nil
    }

    package func forward(_ request: ForwardedRequest, with tokens: RequestTokens) async throws -> ForwardedResponse {
        throw AccountError(.misconfigured, "this tool cannot send requests with the tokens of its service")
    }

    package var networkSettings: [NetworkSetting] { [] }
    package func clockOffset() async throws -> Duration? { nil }
}

extension AuthorityError {
    fileprivate static let derivesNoTokens = AuthorityError.misconfigured(
        "tokens for other APIs are not supported for this service")
}

extension AccountAuthority {
    /// This authority, with everything that the commands and the store need.
    package var serviceAuthority: any ServiceAuthority {
        self as? any ServiceAuthority ?? PlainService(authority: self)
    }
}

/// The authority of an app's own login. The protocols that it adopts determine the ways to sign in.
private struct PlainService: ServiceAuthority {
    let authority: any AccountAuthority

    var passwordWay: (any PasswordAuthority)? { authority as? any PasswordAuthority }
    var tokenWay: (any TokenAuthority)? { authority as? any TokenAuthority }
    var deviceWay: (any DeviceAuthority)? { authority as? any DeviceAuthority }
    var browserWay: (any BrowserAuthority)? { authority as? any BrowserAuthority }

    func verify(_ account: Account) async throws -> Identity { try await authority.verify(account) }
    func refresh(_ account: Account) async throws -> Credentials { try await authority.refresh(account) }
    func revoke(_ account: Account) async throws -> RevocationOutcome { try await authority.revoke(account) }
    func updateProfile(of account: Account) async throws -> Identity { try await authority.updateProfile(of: account) }
    func isAuthority(of account: Account) -> Bool { authority.isAuthority(of: account) }
    var supportsPerGrantRevocation: Bool { authority.supportsPerGrantRevocation }
    var tokenRequestTimeout: Duration { authority.tokenRequestTimeout }
    var issuer: String? { authority.issuer }
}
