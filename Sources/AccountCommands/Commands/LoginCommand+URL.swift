import AccountKit

/// A sign-in for which an API names the service (RFC 9728).
extension LoginCommand {
    /// Adds what the API requires to the sign-in of a user who steps up.
    ///
    /// - Parameter service: Receives the scopes that the API requires.
    func extended(
        _ authority: any ServiceAuthority, for account: Account, adding service: inout AccountService,
        in context: CommandContext<App>
    ) async throws -> any ServiceAuthority {
        guard request.scopes.isEmpty else {
            return try authority.adding(AccessRequirement(scopes: request.scopes), grantedTo: account)
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

    /// Returns the authority with one of the authorization servers that the API names.
    func choosingServer(
        of authority: any ServiceAuthority, expecting expected: String?, in context: CommandContext<App>
    ) async throws -> any ServiceAuthority {
        let servers = try await authority.authorizationServers()
        let known = expected.map(Self.withoutSlash).flatMap { expected in
            servers.first { Self.withoutSlash($0) == expected }
        }
        if let expected, known == nil {
            throw AccountError(
                .misconfigured, "the API no longer uses \(expected), for which you gave the client ID",
                hint: "pass the client ID for \(servers.joined(separator: " or ")) with --client-id")
        }
        guard servers.count > 1 else { return authority }
        let chosen = if let known { known } else { try await server(among: servers, in: context) }
        return authority.choosing(issuer: chosen)
    }

    /// Returns the server at which the user has a session, or asks.
    private func server(among servers: [String], in context: CommandContext<App>) async throws -> String {
        for session in [context.session] + (try await context.sessions()) {
            let known = context.readableService(of: session)?.issuer.map(Self.withoutSlash)
            if let server = servers.first(where: { Self.withoutSlash($0) == known }) { return server }
        }
        guard LoginConversation<App>.isPossible(options) else {
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

    /// Says at which service the user signs in if it is on another server than the API. On a terminal, asks whether this is
    /// right if only the API names the service, and their hosts have nothing in common. A service that AccountKit knows makes
    /// no difference: its token would be sent to this API.
    ///
    /// - Parameter url: The URL of the API. The question is asked once for this URL and service.
    func confirmService(
        of authority: any ServiceAuthority, at url: String?, in context: CommandContext<App>
    ) async throws {
        guard let service = try await authority.signInService(), service.place != service.apiPlace else { return }
        Terminal.say("\(service.apiPlace) uses \(service.place) to sign you in.")
        guard !service.isGiven, !service.isNearAPI, LoginConversation<App>.isPossible(options) else { return }
        let earlier = context.readableService(of: context.session)
        guard earlier?.url != url || earlier?.issuer != service.issuer else { return }
        try Self.confirm("Do you want to sign in at \(service.place)? [y/N] ", naming: service)
    }

    /// Asks a question, and throws an error unless the answer is yes.
    static func confirm(_ question: String, naming service: SignInService) throws(AccountError) {
        guard try Terminal.ask(question).lowercased().hasPrefix("y") else {
            throw AccountError(
                .cancelled, "nothing was sent to \(service.place), and nothing was changed",
                hint: "to choose another service of the API, add --issuer URL")
        }
    }

    private static func withoutSlash(_ issuer: String) -> String {
        issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    }

    /// Runs a sign-in again if the service rejects the stored registration of the tool, which is then registered again.
    func registeringAgain(
        at authority: any ServiceAuthority, _ signIn: () async throws -> Account
    ) async throws -> Account {
        do {
            return try await signIn()
        } catch {
            guard authority.hasRejectedRegistration else { throw error }
            Terminal.say("The service no longer knows the registration of this tool. Registering it again…")
            return try await signIn()
        }
    }

    // MARK: Stepping up

    /// Returns the account whose permissions a sign-in extends.
    func stepUpAccount(in context: CommandContext<App>) async throws -> Account {
        switch await context.archive.load() {
        case .verified(let account), .unverified(let account, _): return account
        case .signedOut(let signOut): throw StateText.error(of: signOut, context.hint)
        case .unreadable(let error): throw error
        }
    }

    /// Adds the scopes that the last sign-in requested. The service may have granted fewer (RFC 6749, section 3.3).
    func addEarlierScopes(
        of account: Account, to service: inout AccountService, in context: CommandContext<App>
    ) throws {
        guard App.acceptsIssuer, let earlier = try context.preferences.service(of: context.session),
            earlier.issuer == account.issuer
        else { return }
        service.scopes += earlier.scopes.filter { !service.scopes.contains($0) }
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
