import AccountKit
import AccountSupport

/// The choice of the client of a sign-in: one that the app or the user registered, one with a metadata document, or a
/// registration.
extension ClientRegistrar {
    private enum ClientChoice {
        case client(RegisteredClient)
        case registration(at: Endpoint, ClientRegistrations)
    }

    /// Returns whether a sign-in fails until the user registers a client and passes its client ID.
    func requiresClientID() async throws(AuthorityError) -> Bool { try await clientChoice() == nil }

    /// Returns `nil` if the app has no client at the service, and must not register one.
    private func clientChoice() async throws(AuthorityError) -> ClientChoice? {
        if clients.clientID != nil { return .client(try clients.signInClient()) }
        if let url = client.metadataURL,
            try await connection.documents.endpoint(.token)?.document.supportsClientMetadata == true
        {
            return .client(RegisteredClient(id: url))
        }
        guard let registrations = client.registrations,
            let endpoint = try await connection.documents.endpoint(.registration)
        else { return nil }
        return .registration(at: endpoint, registrations)
    }

    /// Chooses the client of a sign-in without a browser. A registration still contains a redirect URI, so that later
    /// sign-ins with a browser can use it.
    ///
    /// - Throws: An `AccountError` if the registration cannot be stored; otherwise an `AuthorityError`.
    func chooseClient(for scopes: [String], grant: String) async throws -> RegisteredClient {
        try await chooseClient(for: scopes, grant: grant) { _ in
            true
        } redirectURI: { stored in
            if let stored, connection.options.redirectURI == nil { return stored.redirectURI }
            return try await freeRedirectURI()
        }
    }

    /// Chooses the client of a sign-in with a browser, and listens for its redirect. If the port of a registration is
    /// taken, the registration gets another port: some services compare the complete redirect URI.
    func chooseClient(
        for scopes: [String], _ receiver: RedirectReceiver, _ redirect: LoopbackRedirect?
    ) async throws -> (client: RegisteredClient, listener: LoopbackListener) {
        var open: LoopbackListener?
        do {
            let client = try await chooseClient(for: scopes, grant: GrantType.code) { stored in
                open = try await self.listener(of: stored, receiver)
                return open != nil
            } redirectURI: { _ in
                // With a fixed port, the next sign-in can use the same port immediately.
                let redirectURI = try await freeRedirectURI()
                open = try await self.listener(for: receiver, at: try LoopbackRedirect(redirectURI))
                return redirectURI
            }
            if let open { return (client, open) }
            return (client, try await listener(for: receiver, at: redirect))
        } catch {
            await open?.close()
            throw error
        }
    }

    /// - Parameters:
    ///   - canUse: Returns whether the redirect URI of the stored registration can be used.
    ///   - redirectURI: Returns the redirect URI of an update or a new registration.
    private func chooseClient(
        for scopes: [String], grant: String, canUse: (ClientRegistration) async throws -> Bool,
        redirectURI: (ClientRegistration?) async throws -> String
    ) async throws -> RegisteredClient {
        switch try await clientChoice() {
        case nil: throw clients.notRegistered
        case .client(let client): return client
        case .registration(let endpoint, let registrations):
            do {
                return try await renewRegistration(in: registrations) { stored in
                    if let stored, isUsable(stored, for: scopes, grant: grant), try await canUse(stored) {
                        return stored
                    }
                    let needed = NeededRegistration(
                        endpoint: endpoint, redirectURI: try await redirectURI(stored), scopes: scopes, grant: grant)
                    return try await updateOrRegister(needed, replacing: stored)
                }
            } catch {
                throw error is AccountError ? error : AuthorityError(error)
            }
        }
    }

    private func renewRegistration(
        in registrations: ClientRegistrations, _ choose: (ClientRegistration?) async throws -> ClientRegistration
    ) async throws -> RegisteredClient {
        var use: RegistrationUse?
        var earlier: ClientRegistration?
        let registration = try await registrations.renew(at: connection.name) { stored in
            // The session of another sign-in in progress may be in a store that is not known here.
            if try await registrations.isUnused(at: connection.name) { earlier = stored }
            let begun = try await registrations.beginUse(at: connection.name)
            use = begun
            return try await choose(stored)
        }
        state.noteChoice(of: registration, replacing: earlier)
        state.hold(use)
        return RegisteredClient(registration, use)
    }

    /// Runs `body` with the client of a sign-in, and again with a new registration if the service does not know the
    /// client.
    func registeringAgain<Value: Sendable>(
        for scopes: [String], grant: String, _ body: (RegisteredClient) async throws(AuthorityError) -> Value
    ) async throws -> Value {
        let chosen = try await chooseClient(for: scopes, grant: grant)
        do throws(AuthorityError) {
            return try await body(chosen)
        } catch {
            guard case .oauthError("invalid_client", _) = error, chosen.use != nil else { throw error }
            state.noteRejection(of: chosen.id)
            return try await body(try await chooseClient(for: scopes, grant: grant))
        }
    }

    private func isUsable(_ stored: ClientRegistration, for scopes: [String], grant: String) -> Bool {
        isKnown(stored) && stored.grants.contains(grant) && Set(scopes).isSubset(of: stored.scopes)
            && (connection.options.redirectURI == nil || connection.options.redirectURI == stored.redirectURI)
    }

    /// Returns `nil` if the port of the registration is not available.
    private func listener(
        of stored: ClientRegistration, _ receiver: RedirectReceiver
    ) async throws(AccountError) -> LoopbackListener? {
        let redirect = try LoopbackRedirect(stored.redirectURI)
        do {
            return try await listener(for: receiver, at: redirect)
        } catch {
            // If the user requires this redirect URI, no other port helps.
            guard connection.options.redirectURI == nil else { throw error }
            return nil
        }
    }

    private func listener(
        for receiver: RedirectReceiver, at redirect: LoopbackRedirect? = nil
    ) async throws(AccountError) -> LoopbackListener {
        try await LoopbackListener.open(for: receiver, at: redirect, host: connection.quirks.redirectHost)
    }

    private func freeRedirectURI() async throws(AccountError) -> String {
        if let redirectURI = connection.options.redirectURI { return redirectURI }
        let listener = try await listener(for: RedirectReceiver(expecting: Base64URL.random()))
        await listener.close()
        return "http://\(connection.quirks.redirectHost):\(listener.port)\(LoopbackRequest.callbackPath)"
    }
}
