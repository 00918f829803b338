import AccountKit
import AccountSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuthClient {
    /// Whether a sign-in can choose a client without an ``identifier``.
    var canBeChosen: Bool { identifier != nil || metadataURL != nil || registrations != nil }
}

extension OAuthAuthority {
    private enum ClientChoice {
        case client(SignInClient)
        case registration(at: Endpoint, ClientRegistrations)
    }

    /// Returns whether a sign-in fails until the user registers a client and passes its client ID.
    func requiresClientID() async throws(AuthorityError) -> Bool { try await clientChoiceIfPossible() == nil }

    private func clientChoice() async throws(AuthorityError) -> ClientChoice {
        guard let choice = try await clientChoiceIfPossible() else { throw notRegistered }
        return choice
    }

    private func clientChoiceIfPossible() async throws(AuthorityError) -> ClientChoice? {
        if clientID != nil { return .client(SignInClient(try signInClient())) }
        if let url = client.metadataURL, try await documents.endpoint(.token)?.document.supportsClientMetadata == true {
            return .client(SignInClient(RegisteredClient(id: url)))
        }
        guard let registrations = client.registrations, let endpoint = try await documents.endpoint(.registration)
        else { return nil }
        return .registration(at: endpoint, registrations)
    }

    /// Chooses the client of a sign-in without a browser. A registration still contains a redirect URI, so that later
    /// sign-ins with a browser can use it.
    ///
    /// - Throws: An `AccountError` if the registration cannot be stored; otherwise an `AuthorityError`.
    func chooseClient(for scopes: [String], grant: String) async throws -> SignInClient {
        let (endpoint, registrations): (Endpoint, ClientRegistrations)
        switch try await clientChoice() {
        case .client(let client): return client
        case .registration(at: let named, let known): (endpoint, registrations) = (named, known)
        }
        do {
            return try await renewRegistration(in: registrations) { stored in
                if let stored, isUsable(stored, for: scopes, grant: grant) { return stored }
                let redirectURI =
                    if options.redirectURI == nil, let stored { stored.redirectURI } else {
                        try await freeRedirectURI()
                    }
                let needed = NeededRegistration(
                    endpoint: endpoint, redirectURI: redirectURI, scopes: scopes, grant: grant)
                return try await updateOrRegister(needed, replacing: stored)
            }
        } catch {
            throw error is AccountError ? error : AuthorityError(error)
        }
    }

    private func renewRegistration(
        in registrations: ClientRegistrations, _ choose: (ClientRegistration?) async throws -> ClientRegistration
    ) async throws -> SignInClient {
        var use: RegistrationUse?
        var earlier: ClientRegistration?
        let registration = try await registrations.renew(at: issuer) { stored in
            // The session of another sign-in in progress may be in a store that is not known here.
            if try await registrations.isUnused(at: issuer) { earlier = stored }
            let begun = try await registrations.beginUse(at: issuer)
            use = begun
            return try await choose(stored)
        }
        registrationState.noteChoice(of: registration, replacing: earlier)
        registrationState.hold(use)
        return SignInClient(registration, use)
    }

    /// Chooses the client of a sign-in with a browser, and listens for its redirect. If the port of a registration is
    /// taken, the registration gets another port: some services compare the complete redirect URI.
    func chooseClient(
        for scopes: [String], _ receiver: RedirectReceiver, _ redirect: LoopbackRedirect?
    ) async throws -> (client: SignInClient, listener: LoopbackListener) {
        switch try await clientChoice() {
        case .client(let client):
            let listener = try await LoopbackListener.open(for: receiver, at: redirect, host: quirks.redirectHost)
            return (client, listener)
        case .registration(let endpoint, let registrations):
            var open: LoopbackListener?
            do {
                let client = try await renewRegistration(in: registrations) { stored in
                    if let stored, isUsable(stored, for: scopes, grant: Self.codeGrant),
                        let listener = try await self.listener(of: stored, receiver)
                    {
                        open = listener
                        return stored
                    }
                    // With a fixed port, the next sign-in can use the same port immediately.
                    let redirectURI = try await freeRedirectURI()
                    open = try await LoopbackListener.open(
                        for: receiver, at: try LoopbackRedirect(redirectURI), host: quirks.redirectHost)
                    let needed = NeededRegistration(
                        endpoint: endpoint, redirectURI: redirectURI, scopes: scopes, grant: Self.codeGrant)
                    return try await updateOrRegister(needed, replacing: stored)
                }
                guard let open else { throw AuthorityError.unclear("the registration has no redirect URI") }
                return (client, open)
            } catch {
                await open?.close()
                throw error is AccountError ? error : AuthorityError(error)
            }
        }
    }

    /// Runs `body` with the client of a sign-in, and again with a new registration if the service does not know the
    /// client.
    func registeringAgain<Value: Sendable>(
        for scopes: [String], grant: String, _ body: (SignInClient) async throws(AuthorityError) -> Value
    ) async throws -> Value {
        let chosen = try await chooseClient(for: scopes, grant: grant)
        do throws(AuthorityError) {
            return try await body(chosen)
        } catch {
            guard case .oauthError(.invalidClient, _) = error, chosen.isRegistration else { throw error }
            registrationState.noteRejection(of: chosen.client.id)
            return try await body(try await chooseClient(for: scopes, grant: grant))
        }
    }

    static let codeGrant = "authorization_code"

    private func isUsable(_ stored: ClientRegistration, for scopes: [String], grant: String) -> Bool {
        isKnown(stored) && stored.grants.contains(grant) && Set(scopes).isSubset(of: stored.scopes)
            && (options.redirectURI == nil || options.redirectURI == stored.redirectURI)
    }

    /// Whether the service probably accepts the client.
    func isKnown(_ stored: ClientRegistration) -> Bool {
        !client.registersAgain && !registrationState.isRejected(stored)
            && (stored.secretExpiresAt.map { $0 > clock.now } ?? true)
    }

    /// Returns `nil` if the port of the registration is not available.
    private func listener(
        of stored: ClientRegistration, _ receiver: RedirectReceiver
    ) async throws(AccountError) -> LoopbackListener? {
        let redirect = try LoopbackRedirect(stored.redirectURI)
        do {
            return try await LoopbackListener.open(for: receiver, at: redirect, host: quirks.redirectHost)
        } catch {
            // If the user requires this redirect URI, no other port helps.
            guard options.redirectURI == nil else { throw error }
            return nil
        }
    }

    private func redirectURI(port: Int) -> String {
        "http://\(quirks.redirectHost):\(port)\(LoopbackRequest.callbackPath)"
    }

    private func freeRedirectURI() async throws(AccountError) -> String {
        if let redirectURI = options.redirectURI { return redirectURI }
        let listener = try await LoopbackListener.open(
            for: RedirectReceiver(expecting: Base64URL.random()), host: quirks.redirectHost)
        await listener.close()
        return redirectURI(port: listener.port)
    }
}
