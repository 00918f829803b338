package import AccountKit
import AccountSupport
import HTTPTypes
import Logging
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The client of one sign-in.
struct SignInClient: Sendable {
    let client: RegisteredClient

    /// The use of the registration until the session is stored; `nil` if the client is not a stored registration.
    let use: RegistrationUse?

    var isRegistration: Bool { use != nil }

    init(_ client: RegisteredClient) {
        self.client = client
        use = nil
    }

    init(_ registration: ClientRegistration, _ use: RegistrationUse?) {
        client = RegisteredClient(
            id: registration.clientID, secret: registration.clientSecret,
            authentication: registration.clientAuthentication.flatMap { ClientAuthentication(rawValue: $0) })
        self.use = use
    }
}

/// The state of the registrations that an authority uses, for all copies of the value.
final class RegistrationState: Sendable {
    private struct State {
        var rejectedIDs: Set<String> = []
        var hasRejection = false
        var use: RegistrationUse?
        var replaced: ClientRegistration?
    }

    private let state = Mutex(State())

    /// Whether the service has rejected a registration since the last one was chosen.
    var hasRejection: Bool { state.withLock(\.hasRejection) }

    func noteRejection(of clientID: String) {
        state.withLock {
            $0.rejectedIDs.insert(clientID)
            $0.hasRejection = true
        }
    }

    func isRejected(_ registration: ClientRegistration) -> Bool {
        state.withLock { $0.rejectedIDs.contains(registration.clientID) }
    }

    /// The last registration that this authority has replaced, if no other sign-in used it then.
    var replaced: ClientRegistration? { state.withLock(\.replaced) }

    func noteChoice(of chosen: ClientRegistration, replacing stored: ClientRegistration?) {
        state.withLock {
            $0.hasRejection = false
            if let stored, stored.clientID != chosen.clientID { $0.replaced = stored }
        }
    }

    /// Keeps a registration in use after the sign-in has returned. The caller stores the account later, and may then have
    /// to keep the registration for other machines. The use ends with the next sign-in, with ``endUse()``, or with the
    /// authority.
    func hold(_ use: RegistrationUse?) { state.withLock { $0.use = use } }

    func endUse() {
        state.withLock {
            // The sign-in has the same object.
            $0.use?.end()
            $0.use = nil
        }
    }
}

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
    func requiresClientID() async throws(AuthorityError) -> Bool { try await possibleClientChoice() == nil }

    private func clientChoice() async throws(AuthorityError) -> ClientChoice {
        guard let choice = try await possibleClientChoice() else { throw notRegistered }
        return choice
    }

    private func possibleClientChoice() async throws(AuthorityError) -> ClientChoice? {
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
            return try await chosen(from: registrations) { stored in
                if let stored, isUsable(stored, for: scopes, grant: grant) { return stored }
                let redirectURI =
                    if options.redirectURI == nil, let stored { stored.redirectURI } else {
                        try await freeRedirectURI()
                    }
                return try await register(
                    replacing: stored, at: endpoint, redirectURI: redirectURI, scopes: scopes, grant: grant)
            }
        } catch {
            throw error is AccountError ? error : AuthorityError(error)
        }
    }

    private func chosen(
        from registrations: ClientRegistrations, _ choose: (ClientRegistration?) async throws -> ClientRegistration
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
                let client = try await chosen(from: registrations) { stored in
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
                    return try await register(
                        replacing: stored, at: endpoint, redirectURI: redirectURI, scopes: scopes,
                        grant: Self.codeGrant)
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

    private static let codeGrant = "authorization_code"

    private func isUsable(_ stored: ClientRegistration, for scopes: [String], grant: String) -> Bool {
        isKnown(stored) && stored.grants.contains(grant) && Set(scopes).isSubset(of: stored.scopes)
            && (options.redirectURI == nil || options.redirectURI == stored.redirectURI)
    }

    /// Whether the service probably accepts the client.
    private func isKnown(_ stored: ClientRegistration) -> Bool {
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

    // MARK: Dynamic registration

    /// The metadata of a native app (RFC 7591, section 2; OpenID Connect Dynamic Client Registration, section 2).
    private struct RegistrationRequest: Encodable {
        /// Only in an update.
        var clientID: String?
        var redirectURIs: [String]
        var tokenEndpointAuthMethod: String
        var grantTypes: [String]
        var responseTypes = ["code"]
        var applicationType = "native"
        var clientName: String
        var scope: String?

        enum CodingKeys: String, CodingKey {
            case clientID = "client_id"
            case redirectURIs = "redirect_uris"
            case tokenEndpointAuthMethod = "token_endpoint_auth_method"
            case grantTypes = "grant_types"
            case responseTypes = "response_types"
            case applicationType = "application_type"
            case clientName = "client_name"
            case scope
        }
    }

    /// Updates the registration, so that sessions keep their client and the service keeps no unused one (RFC 7592,
    /// section 2.2). If that is not possible, registers the app again. A client with a secret is not updated: the
    /// response may replace the secret, and other sessions have copies of it.
    private func register(
        replacing stored: ClientRegistration?, at endpoint: Endpoint, redirectURI: String, scopes: [String],
        grant: String
    ) async throws(AuthorityError) -> ClientRegistration {
        if let stored, let management = stored.management, stored.clientSecret == nil, isKnown(stored) {
            do {
                return try await updated(
                    stored, with: management, at: endpoint, redirectURI: redirectURI, scopes: scopes, grant: grant)
            } catch {
                if case .noResponse = error { throw error }
                logger?.debug("the registration cannot be updated", metadata: ["error": "\(error)"])
            }
        }
        return try await register(at: endpoint, redirectURI: redirectURI, scopes: scopes, grant: grant)
    }

    /// Another sign-in may wait at the old redirect URI, so it stays valid.
    private func updated(
        _ stored: ClientRegistration, with management: ClientRegistration.Management, at endpoint: Endpoint,
        redirectURI: String, scopes: [String], grant: String
    ) async throws(AuthorityError) -> ClientRegistration {
        // The caller registers the app again.
        guard let url = try? ServiceURL(management.url) else { throw .unclear("the stored address is not valid") }
        let scopes = stored.scopes + scopes.filter { !stored.scopes.contains($0) }
        let grants = stored.grants + [grant].filter { !stored.grants.contains($0) }
        var metadata = RegistrationRequest(
            clientID: stored.clientID, redirectURIs: [redirectURI],
            tokenEndpointAuthMethod: "none", grantTypes: grants, clientName: client.name,
            scope: scopes.isEmpty ? nil : scopes.joined(separator: " "))
        if stored.redirectURI != redirectURI { metadata.redirectURIs.append(stored.redirectURI) }
        var request = try registrationRequest(metadata, to: url, bearer: management.token)
        request.method = .put
        var registration = try registration(
            in: try await send(request), to: request, redirectURI: redirectURI, scopes: scopes, at: endpoint.url,
            updating: stored)
        guard registration.clientID == stored.clientID, registration.clientSecret == nil else {
            throw .unclear("\(issuer) changed the client in an update")
        }
        registration.grants = grants
        return registration
    }

    private func registrationRequest(
        _ metadata: RegistrationRequest, to url: ServiceURL, bearer token: Secret? = nil
    ) throws(AuthorityError) -> ServiceRequest {
        var request = ServiceRequest(url: url, bearer: token)
        request.headerFields[.contentType] = "application/json"
        do {
            request.body = try JSONEncoder().encode(metadata)
        } catch {
            throw .misconfigured("the name of the app cannot be sent")
        }
        return request
    }

    /// Registers the app for all ways to sign in. Some services allow a client only one of them.
    private func register(
        at endpoint: Endpoint, redirectURI: String, scopes: [String], grant: String
    ) async throws(AuthorityError) -> ClientRegistration {
        var grants = [Self.codeGrant]
        if try await documents.endpoint(.deviceAuthorization) != nil { grants.append(Self.deviceCodeGrant) }
        if !grants.contains(grant) { grants.append(grant) }
        do throws(AuthorityError) {
            return try await register(
                at: endpoint, redirectURI: redirectURI, scopes: scopes, grants: grants + ["refresh_token"])
        } catch {
            guard case .oauthError("invalid_client_metadata", _) = error, grants.count > 1 else { throw error }
            return try await register(
                at: endpoint, redirectURI: redirectURI, scopes: scopes, grants: [grant, "refresh_token"])
        }
    }

    private func register(
        at endpoint: Endpoint, redirectURI: String, scopes: [String], grants: [String]
    ) async throws(AuthorityError) -> ClientRegistration {
        let metadata = RegistrationRequest(
            redirectURIs: [redirectURI], tokenEndpointAuthMethod: registrationMethod(in: endpoint.document),
            grantTypes: grants, clientName: client.name,
            scope: scopes.isEmpty ? nil : scopes.joined(separator: " "))
        var request = try registrationRequest(metadata, to: endpoint.url)
        request.method = .post
        let response = try await send(request)
        if [401, 403].contains(response.status) {
            throw .misconfigured(
                "\(issuer) does not let this app register itself (\(response.status)): register it there yourself, and pass its "
                    + "client ID (on a command line, with --client-id ID)")
        }
        var registration = try registration(
            in: response, to: request, redirectURI: redirectURI, scopes: scopes, at: endpoint.url)
        registration.grants = grants
        return registration
    }

    /// A public client, unless the service accepts only clients with a secret. Then the method that it lists first.
    private func registrationMethod(in document: ServiceDocument) -> String {
        guard let methods = document.tokenAuthentication, !methods.contains("none") else { return "none" }
        return methods.first { ClientAuthentication(rawValue: $0) != nil } ?? "none"
    }

    /// RFC 7591, section 3.2.1. Some services leave out an unchanged management token in the response to an update.
    private func registration(
        in response: ServiceResponse, to request: ServiceRequest, redirectURI: String, scopes: [String],
        at endpoint: ServiceURL,
        updating stored: ClientRegistration? = nil
    ) throws(AuthorityError) -> ClientRegistration {
        let object = try ResponseParser(.registration, sent: request.secrets).responseObject(in: response)
        let flaw = "\(issuer) registered this app, but "
        guard !object.isAmbiguous, let clientID = object.members["client_id"]?.string, !clientID.isEmpty,
            clientID.utf8.count <= 2048, clientID.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
        else { throw .unclear(flaw + "sent no valid client ID") }
        if let value = object.members["redirect_uris"], value != .null {
            guard case .array(let uris) = value, uris.contains(.string(redirectURI)) else {
                throw .misconfigured(flaw + "changed the redirect URI, so the browser would return elsewhere")
            }
        }
        var registration = ClientRegistration(
            issuer: issuer, clientID: clientID, redirectURI: redirectURI, scopes: scopes, createdAt: clock.now)
        let method = object.members["token_endpoint_auth_method"]?.string
        switch (method, object.secrets["client_secret"]) {
        case ("none", _), (nil, nil): break
        case (let method, let secret?):
            // Without a method, the default of section 2.
            guard let method = ClientAuthentication(rawValue: method ?? ClientAuthentication.basic.rawValue) else {
                throw .misconfigured(flaw + "requires an authentication method that AccountKit does not support")
            }
            registration.clientSecret = secret
            registration.clientAuthentication = method.rawValue
            let expiry = object.members["client_secret_expires_at"]
            registration.secretExpiresAt = try expiry.flatMap { value throws(AuthorityError) in
                try secretExpiry(value, flaw)
            }
        case (_?, nil):
            throw .misconfigured(flaw + "requires authentication, but sent no secret for it")
        }
        // Without a usable address on the same server, AccountKit cannot remove the registration, but can use it.
        if let text = object.members["registration_client_uri"]?.string ?? stored?.management?.url,
            let token = object.secrets["registration_access_token"] ?? stored?.management?.token,
            let url = try? ServiceURL(text),
            ServiceURL(at: url, path: "") == ServiceURL(at: endpoint, path: "")
        {
            registration.management = .init(url: text, token: token)
        }
        return registration
    }

    /// 0 means never.
    private func secretExpiry(_ value: JSONValue?, _ flaw: String) throws(AuthorityError) -> Date? {
        guard let seconds = value?.number, seconds != 0 else { return nil }
        let date = Date(timeIntervalSince1970: seconds)
        guard date > clock.now else { throw .unclear(flaw + "sent a client secret that has already expired") }
        return date
    }
}

extension OAuthAuthority: RegisteringAuthority {
    package var hasRejectedRegistration: Bool { registrationState.hasRejection }

    package func removeRegistration(
        of account: Account, unless isUsed: () async throws -> Bool
    ) async throws(AccountError) {
        guard let registrations = client.registrations,
            let known = try await registrations.registration(at: issuer),
            known.clientID == account.credentials.clientID, known.management != nil
        else { return }
        registrationState.endUse()
        try await registrations.remove(clientID: known.clientID, at: issuer, unless: isUsed) { registration in
            try await removeAtService(registration)
        }
    }

    package var hasReplacedRegistration: Bool { registrationState.replaced?.management != nil }

    package func removeReplacedRegistration(
        unless isUsed: (_ clientID: String) async throws -> Bool
    ) async throws(AccountError) {
        guard hasReplacedRegistration, let registrations = client.registrations,
            let replaced = registrationState.replaced
        else { return }
        registrationState.endUse()
        try await registrations.removeReplaced(replaced) {
            try await isUsed(replaced.clientID)
        } removingAtService: { registration in
            try await removeAtService(registration)
        }
    }

    private func removeAtService(_ registration: ClientRegistration) async throws(AccountError) {
        let failure = "the registration of this app at \(issuer) could not be removed"
        let hint = "the next sign-in uses it again"
        guard let management = registration.management, let url = try? ServiceURL(management.url) else {
            throw AccountError(.serviceUnavailable, failure, hint: hint)
        }
        var request = ServiceRequest(url: url, bearer: management.token)
        request.method = .delete
        let response: ServiceResponse
        do throws(AuthorityError) {
            // Other sign-ins wait for this request.
            response = try await transport.send(
                request, timeout: min(timeout, .seconds(5)), clock: clock, logger: logger)
        } catch {
            throw AccountError(.serviceUnavailable, failure, hint: hint, cause: RequestFailure(error))
        }
        // RFC 7592, section 2.3. After a 401 or 404, the registration is already gone.
        guard [200, 204, 401, 404].contains(response.status) else {
            throw AccountError(.serviceUnavailable, "\(failure) (\(response.status))", hint: hint)
        }
    }
}
