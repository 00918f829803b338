package import AccountKit
import AccountSupport

/// The API that names the service of an authority.
extension OAuthAuthority {
    private var api: APIServices? { if case .api(let api) = origin { api } else { nil } }

    package var namingAPI: String? { api?.url.description }

    package func authorizationServers() async throws(AccountError) -> [String] {
        guard let api else { return [] }
        return try await asking { () async throws(AuthorityError) in
            try await api.protectedResource().authorizationServers.map { (try? Issuer($0))?.identifier ?? $0 }
        }
    }

    package func choosing(issuer: String) -> any ServiceAuthority {
        guard let api else { return self }
        return OAuthAuthority(api: api.choosing(issuer: issuer))
    }

    package func signInService() async throws(AccountError) -> SignInService? {
        guard let api else { return nil }
        let service = try await asking { () async throws(AuthorityError) in try await api.signInService() }
        try api.check(service, mayReceive: settings.client.supplied)
        let issuer = service.connection.issuer.url
        return SignInService(
            issuer: service.connection.name, place: issuer.authority, apiPlace: api.url.authority,
            isGiven: service.connection.isGiven, isNamedByAPIOnly: service.connection.isNamedByAPIOnly,
            isNearAPI: api.url.isNear(issuer))
    }

    package func signInResources() async throws(AccountError) -> [String] {
        try await asking { () async throws(AuthorityError) in try await service().connection.options.resources }
    }

    package var unmetRequirement: AccessRequirement? { api?.cache.requirement }

    package func requiresClientID() async throws(AccountError) -> Bool {
        try await asking { () async throws(AuthorityError) in try await service().registrar.requiresClientID() }
    }

    package func serviceDocumentation() async throws(AccountError) -> String? {
        try await asking { () async throws(AuthorityError) in
            try await service().connection.documents.documentation()
        }
    }

    private func asking<Value>(_ body: () async throws(AuthorityError) -> Value) async throws(AccountError) -> Value {
        do throws(AuthorityError) {
            return try await body()
        } catch {
            throw AccountError(signIn: error, advice: "check the URL")
        }
    }

    package func adding(
        _ requirement: AccessRequirement, grantedTo account: Account
    ) throws(AccountError) -> any ServiceAuthority {
        guard let api else { return self }
        let credentials = account.credentials
        let granted = credentials.signInScopes.isEmpty ? credentials.scopes : credentials.signInScopes
        let missing = requirement.scopes.filter { !granted.contains($0) }
        guard !missing.isEmpty || requirement.needsAuthentication else {
            throw AccountError(
                .insufficientScope, "the service has already granted what \(api.url) requires (\(requirement))",
                hint: "ask the operator of the API why it does not accept the token", cause: nil)
        }
        let acrValues = requirement.acrValues
        return OAuthAuthority(
            api: api.changing {
                let earlier = $0.additionalScopes
                $0.additionalScopes += (granted + missing).filter { !earlier.contains($0) }
                $0.options.parameters["acr_values"] = acrValues.isEmpty ? nil : acrValues.joined(separator: " ")
                $0.options.parameters["max_age"] = requirement.maxAge.map { "\($0.components.seconds)" }
            })
    }

    package func requirement(for account: Account) async throws(AccountError) -> AccessRequirement? {
        guard let api else { return nil }
        return try await api.requirement(for: account)
    }

    package func audienceProblem(of credentials: Credentials) -> AccountError? {
        api?.audienceProblem(of: credentials)
    }

    /// Returns how a service differs from the standards if its user info endpoint is on a server; `nil` if it is elsewhere.
    func quirks(ofUserInfoAt server: ServiceURL) -> ServiceQuirks? {
        guard case .issuer(let service) = origin, let url = service.connection.discovery.knownURL(.userInfo),
            url.origin == server
        else { return nil }
        return service.connection.quirks
    }

    /// Returns the error if the target is on the server of the API. The user or the app chose any other target.
    func audienceProblem(of credentials: Credentials, at target: ServiceURL) -> AccountError? {
        guard let api, target.origin == api.url.origin else { return nil }
        return api.audienceProblem(of: credentials)
    }
}
