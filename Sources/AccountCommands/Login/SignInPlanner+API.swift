import AccountKit

/// A sign-in for which an API names the service (RFC 9728), or which extends the permissions for an API.
extension SignInPlanner {
    /// Returns the authority of an API with the service to sign in to. If the tool has a default client ID for this service,
    /// sets it in `service`.
    func choosingService(
        of api: any ServiceAuthority, for service: inout AccountService
    ) async throws -> any ServiceAuthority {
        let isChosen = service.issuer != nil
        var authority = api
        if !isChosen, let server = answers?.server {
            authority = api.choosing(issuer: server)
        } else if !isChosen {
            // A remembered client ID is only for the service that the user gave it for.
            let isRemembered = clientID == nil && service.clientID != nil
            let expected = isRemembered ? try context.preferences.service(of: context.session)?.issuer : nil
            authority = try await choosingServer(of: api, expecting: expected)
        }
        guard let id = await defaultClientID(at: authority, for: service) else { return authority }
        service.clientID = id
        // Without several servers, the URL itself may be the server.
        let hasChoice = try await authority.authorizationServers().count > 1
        let server = answers?.server ?? (hasChoice ? authority.issuer : nil)
        let named = try self.authority(for: service)
        guard !isChosen, let server else { return named }
        return named.choosing(issuer: server)
    }

    /// Returns the default client ID for a URL that is the service itself, if this service registers no tools; `nil` if the
    /// sign-in needs none. The service of an API, and a known service, require a registered client.
    private func defaultClientID(at authority: any ServiceAuthority, for service: AccountService) async -> String? {
        guard let clientID = App.defaultClientID, service.clientID == nil, service.clientMetadataURL == nil,
            !command.ways.withToken, let url = service.url
        else { return nil }
        do {
            guard try await authority.requiresClientID() else { return nil }
        } catch {
            // The sign-in fails for the same reason, and reports it.
            return nil
        }
        guard let issuer = authority.issuer, issuer.withoutEndingSlash == url.withoutEndingSlash,
            !App.services.contains(where: { $0.issuer == issuer })
        else { return nil }
        return clientID
    }

    // MARK: Several servers

    /// Returns the authority with one of the authorization servers that the API names.
    func choosingServer(
        of authority: any ServiceAuthority, expecting expected: String? = nil
    ) async throws -> any ServiceAuthority {
        let servers = try await authority.authorizationServers()
        let known = expected.flatMap { expected in
            servers.first { $0.withoutEndingSlash == expected.withoutEndingSlash }
        }
        if let expected, known == nil {
            throw AccountError(
                .misconfigured, "the API no longer uses \(expected), for which you gave the client ID",
                hint: "pass the client ID for \(servers.joined(separator: " or ")) with --client-id")
        }
        guard servers.count > 1 else { return authority }
        let chosen = if let known { known } else { try await server(among: servers) }
        return authority.choosing(issuer: chosen)
    }

    /// Returns the server at which the user has a session, or asks.
    private func server(among servers: [String]) async throws -> String {
        for session in [context.session] + (try await context.sessions()) {
            let known = context.readableService(of: session)?.issuer?.withoutEndingSlash
            if let server = servers.first(where: { $0.withoutEndingSlash == known }) { return server }
        }
        guard context.canAsk else {
            throw AccountError(
                .invalidArgument, "the API has \(servers.count) authorization servers",
                hint: "choose one with --issuer: \(servers.joined(separator: ", "))")
        }
        Terminal.say("The API has \(servers.count) authorization servers:")
        for (index, server) in servers.enumerated() { Terminal.say("  \(index + 1)  \(server)") }
        while true {
            guard let text = try Terminal.answer(to: "Enter a number: ") else {
                throw AccountError(.invalidArgument, "nothing was entered")
            }
            if let number = Int(text), (1...servers.count).contains(number) { return servers[number - 1] }
            Terminal.say(.failure, "Enter a number from 1 to \(servers.count).")
        }
    }

    // MARK: Stepping up

    /// Returns the account whose permissions a sign-in extends.
    func stepUpAccount() async throws -> Account {
        switch await context.archive.load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw StateText.error(of: signOut, context.hint)
        case .unreadable(let error): throw error
        }
    }

    /// Adds the scopes that the last sign-in requested. The service may have granted fewer (RFC 6749, section 3.3).
    func addEarlierScopes(of account: Account, to service: inout AccountService) throws {
        guard App.acceptsIssuer, let earlier = try context.preferences.service(of: context.session),
            earlier.issuer == account.issuer
        else { return }
        service.scopes += earlier.scopes.filter { !service.scopes.contains($0) }
    }

    /// Adds what the API requires to the sign-in of a user who steps up.
    ///
    /// - Parameter service: Receives the scopes that the API requires.
    func extended(
        _ authority: any ServiceAuthority, for account: Account, adding service: inout AccountService
    ) async throws -> any ServiceAuthority {
        let scopes = command.request.scopes
        guard scopes.isEmpty else {
            return try authority.adding(AccessRequirement(scopes: scopes), grantedTo: account)
        }
        // The API names a requirement only for a valid token.
        let current = try await context.archive.usableAccount(minimumValidity: nil, with: authority)
        guard let requirement = try await authority.requirement(for: current) else {
            throw AccountError(
                .invalidArgument, "the API accepts the token of this session and names no further requirement",
                hint: "name the scopes with --scope")
        }
        service.scopes += requirement.scopes.filter { !service.scopes.contains($0) }
        return try authority.adding(requirement, grantedTo: account)
    }

    /// Returns the service with the granted scopes as further scopes. The settings contain only requested scopes.
    func widened(_ service: AccountService, by account: Account) -> AccountService {
        let credentials = account.credentials
        let granted = credentials.signInScopes.isEmpty ? credentials.scopes : credentials.signInScopes
        var service = service
        service.scopes += granted.filter { !service.scopes.contains($0) }
        return service
    }
}
