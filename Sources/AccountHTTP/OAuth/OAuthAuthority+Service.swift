package import AccountKit
import AccountSupport

extension OAuthAuthority: ServiceAuthority {
    private var userWay: OAuthAuthority? { machine == nil ? self : nil }

    package var passwordWay: (any PasswordAuthority)? { userWay }
    package var tokenWay: (any TokenAuthority)? { userWay }
    package var deviceWay: (any DeviceAuthority)? { userWay }
    package var browserWay: (any BrowserAuthority)? { userWay }
    package var clientWay: (any ServiceAuthority)? { self }

    package func preparePasswordSignIn() async throws {
        try await service(receiving: .password).signIns.preparePasswordSignIn()
    }

    package func assertionProblem(for account: Account, isQuick: Bool) async -> AuthorityError? {
        do throws(AuthorityError) {
            return try await service(of: account).clients.assertions?.problem(isQuick: isQuick)
        } catch {
            return error
        }
    }

    package func refreshTokenAdvice(usesBrowser: Bool) async -> RefreshTokenAdvice? {
        await resolvedService?.scopes.refreshTokenAdvice(usesBrowser: usesBrowser)
    }

    package var unusedTokenLifetime: Duration? {
        guard case .issuer(let service) = origin else { return nil }
        return service.connection.serviceAtHost?.unusedTokenLifetime
    }

    package func signInScopes() async -> [String] { await resolvedService?.scopes.known() ?? [] }

    package func endSessionURL() async -> String? {
        switch origin {
        case .issuer(let service): await service.connection.endSessionURL()
        case .api(let api): await api.cache.current?.connection.endSessionURL()
        }
    }

    // MARK: Tokens

    package func prepare(
        _ request: TokenRequest, of account: Account
    ) async throws(AuthorityError) -> any PreparedExchange {
        try await service(of: account).sessions.prepare(request, of: account)
    }

    package var derivesTokens: Bool { true }

    package func tokenDerivation(
        for target: TokenTarget, of account: Account
    ) async throws(AuthorityError) -> TokenDerivation {
        try await service(of: account).sessions.derivation(for: target, of: account)
    }

    package func exchangeToken(
        for target: TokenTarget, of account: Account, by derivation: TokenDerivation
    ) async throws(AuthorityError) -> Credentials {
        try await service(of: account).sessions.prepare(.derivation(target, derivation), of: account)
            .exchange { true }.credentials
    }

    package func proof(of credentials: Credentials, method: String, url: String, nonce: String?) throws -> String? {
        try DPoPProof(
            method: method, url: url, accessToken: credentials.accessToken, nonce: nonce, date: settings.clock.now
        ).signed(with: credentials)
    }

    // MARK: Registrations

    package var hasRejectedRegistration: Bool { resolvedService?.registrar.state.hasRejection ?? false }

    package func removeRegistration(
        of account: Account, unless isUsed: @Sendable () async throws -> Bool
    ) async throws(AccountError) {
        let service: OAuthService
        do throws(AuthorityError) {
            service = try self.service(of: account)
        } catch {
            throw AccountError(signIn: error, advice: "nothing was changed")
        }
        try await service.registrar.remove(of: account, unless: isUsed)
    }

    package var hasReplacedRegistration: Bool { resolvedService?.registrar.hasReplaced ?? false }

    package func removeReplacedRegistration(
        unless isUsed: @Sendable (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {
        try await resolvedService?.registrar.removeReplaced(unless: isUsed)
    }

    // MARK: Explanations

    package var networkSettings: [NetworkSetting] {
        switch origin {
        case .issuer(let service):
            service.connection.transport.environment.settings(for: service.connection.issuer.url)
        case .api(let api): HTTPTransport.shared.environment.settings(for: api.url)
        }
    }

    package func clockOffset() async throws -> Duration? {
        switch origin {
        case .issuer(let service): try await service.connection.clockOffset()
        case .api(let api): try await api.clockOffset()
        }
    }
}
