package import AccountKit
import AccountSupport
import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The client that a sign-in has chosen.
final class SignInClientState: Sendable {
    private struct State {
        var client: RegisteredClient?
        var registration: ClientRegistration?
        var rejected: Set<String> = []
        var isRejected = false
    }

    private let state = Mutex(State())

    var client: RegisteredClient? { state.withLock(\.client) }

    /// Whether the service has rejected a registration since the last one was chosen.
    var isRejected: Bool { state.withLock(\.isRejected) }

    func choose(_ client: RegisteredClient) { state.withLock { ($0.client, $0.registration) = (client, nil) } }

    func choose(_ registration: ClientRegistration) -> RegisteredClient {
        let client = RegisteredClient(
            id: registration.clientID, secret: registration.clientSecret,
            authentication: registration.clientAuthentication.flatMap { ClientAuthentication(rawValue: $0) })
        state.withLock {
            ($0.client, $0.registration) = (client, registration)
            $0.isRejected = false
        }
        return client
    }

    /// Returns whether there was a registration.
    @discardableResult
    func rejectRegistration() -> Bool {
        state.withLock { state in
            guard let registration = state.registration else { return false }
            state.rejected.insert(registration.clientID)
            state.isRejected = true
            return true
        }
    }

    func hasRejected(_ registration: ClientRegistration) -> Bool {
        state.withLock { $0.rejected.contains(registration.clientID) }
    }
}

extension OAuthClient {
    /// Whether a sign-in can choose a client without an ``identifier``.
    var canBeChosen: Bool { identifier != nil || metadataURL != nil || registrations != nil }
}

extension OAuthAuthority {
    private enum ClientChoice {
        case client(RegisteredClient)
        case registration(at: Endpoint, ClientRegistrations)
    }

    /// Returns whether a sign-in fails until the user registers a client and passes its client ID.
    func requiresClientID() async throws(AuthorityError) -> Bool { try await possibleClientChoice() == nil }

    private func clientChoice() async throws(AuthorityError) -> ClientChoice {
        guard let choice = try await possibleClientChoice() else { throw notRegistered }
        return choice
    }

    private func possibleClientChoice() async throws(AuthorityError) -> ClientChoice? {
        if clientID != nil { return .client(try signInClient()) }
        if let url = client.metadataURL, try await documents.endpoint(.token)?.document.supportsClientMetadata == true {
            let chosen = RegisteredClient(id: url)
            signInState.choose(chosen)
            return .client(chosen)
        }
        guard let registrations = client.registrations, let endpoint = try await documents.endpoint(.registration)
        else { return nil }
        return .registration(at: endpoint, registrations)
    }

    /// Chooses the client of a sign-in without a browser. A registration still contains a redirect URI, so that later
    /// sign-ins with a browser can use it.
    func chooseClient(for scopes: [String], grant: String) async throws(AuthorityError) {
        guard case .registration(let endpoint, let registrations) = try await clientChoice() else { return }
        do {
            let registration = try await registrations.renew(at: issuer) { stored in
                if let stored, isUsable(stored, for: scopes, grant: grant) { return stored }
                return try await register(
                    at: endpoint, redirectURI: try await freeRedirectURI(), scopes: scopes, grant: grant)
            }
            _ = signInState.choose(registration)
        } catch {
            throw AuthorityError(registering: error)
        }
    }

    /// Chooses the client of a sign-in with a browser, and listens for its redirect. If the port of a registration is
    /// taken, the app is registered again with another port: some services compare the complete redirect URI.
    func chooseClient(
        for scopes: [String], _ receiver: RedirectReceiver, _ redirect: LoopbackRedirect?
    ) async throws -> (client: RegisteredClient, listener: LoopbackListener) {
        switch try await clientChoice() {
        case .client(let client):
            let listener = try await LoopbackListener.open(for: receiver, at: redirect, host: quirks.redirectHost)
            return (client, listener)
        case .registration(let endpoint, let registrations):
            var open: LoopbackListener?
            do {
                let registration = try await registrations.renew(at: issuer) { stored in
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
                        at: endpoint, redirectURI: redirectURI, scopes: scopes, grant: Self.codeGrant)
                }
                guard let open else { throw AuthorityError.unclear("the registration has no redirect URI") }
                return (signInState.choose(registration), open)
            } catch {
                await open?.close()
                throw error is AccountError ? error : AuthorityError(registering: error)
            }
        }
    }

    /// Runs `body` again with a new registration if the service does not know the client.
    func registeringAgain<Value: Sendable>(
        for scopes: [String], grant: String, _ body: () async throws(AuthorityError) -> Value
    ) async throws(AuthorityError) -> Value {
        do throws(AuthorityError) {
            return try await body()
        } catch {
            guard case .oauthError(.invalidClient, _) = error, signInState.rejectRegistration() else { throw error }
            try await chooseClient(for: scopes, grant: grant)
            return try await body()
        }
    }

    private static let codeGrant = "authorization_code"

    private func isUsable(_ stored: ClientRegistration, for scopes: [String], grant: String) -> Bool {
        !client.registersAgain && !signInState.hasRejected(stored) && stored.grants.contains(grant)
            && Set(scopes).isSubset(of: stored.scopes)
            && (options.redirectURI == nil || options.redirectURI == stored.redirectURI)
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
        var redirectURIs: [String]
        var tokenEndpointAuthMethod: String
        var grantTypes: [String]
        var responseTypes = ["code"]
        var applicationType = "native"
        var clientName: String
        var scope: String?

        enum CodingKeys: String, CodingKey {
            case redirectURIs = "redirect_uris"
            case tokenEndpointAuthMethod = "token_endpoint_auth_method"
            case grantTypes = "grant_types"
            case responseTypes = "response_types"
            case applicationType = "application_type"
            case clientName = "client_name"
            case scope
        }
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
        var request = ServiceRequest(url: endpoint.url)
        request.method = .post
        request.headerFields[.contentType] = "application/json"
        do {
            request.body = try JSONEncoder().encode(metadata)
        } catch {
            throw .misconfigured("the name of the app cannot be sent")
        }
        let response = try await send(request)
        if [401, 403].contains(response.status) {
            throw .misconfigured(
                "\(issuer) does not let this app register itself (\(response.status)): register it there yourself, and pass its "
                    + "client ID (on a command line, with --client-id ID)")
        }
        var registration = try registration(in: response, redirectURI: redirectURI, scopes: scopes, at: endpoint.url)
        registration.grants = grants
        return registration
    }

    /// A public client, unless the service accepts only clients with a secret. Then the method that it lists first.
    private func registrationMethod(in document: ServiceDocument) -> String {
        guard let methods = document.tokenAuthentication, !methods.contains("none") else { return "none" }
        return methods.first { ClientAuthentication(rawValue: $0) != nil } ?? "none"
    }

    /// RFC 7591, section 3.2.1.
    private func registration(
        in response: ServiceResponse, redirectURI: String, scopes: [String], at endpoint: ServiceURL
    ) throws(AuthorityError) -> ClientRegistration {
        let object = try ResponseParser(.registration).responseObject(in: response)
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
                throw .misconfigured(flaw + "requires an authentication that AccountKit does not support")
            }
            registration.clientSecret = secret
            registration.clientAuthentication = method.rawValue
            registration.secretExpiresAt = try secretExpiry(object.members["client_secret_expires_at"], flaw)
        case (_?, nil):
            throw .misconfigured(flaw + "requires an authentication for which it sent no secret")
        }
        // Without a usable address on the same server, AccountKit cannot remove the registration, but can use it.
        if let text = object.members["registration_client_uri"]?.string,
            let token = object.secrets["registration_access_token"], let url = try? ServiceURL(text),
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
    package var hasRejectedRegistration: Bool { signInState.isRejected }

    package func removeRegistration(of account: Account) async throws(AccountError) {
        guard let registrations = client.registrations,
            let registration = try await registrations.registration(at: issuer),
            registration.clientID == account.credentials.clientID, let management = registration.management,
            let url = try? ServiceURL(management.url)
        else { return }
        var request = ServiceRequest(url: url, bearer: management.token)
        request.method = .delete
        let response: ServiceResponse
        do throws(AuthorityError) {
            response = try await send(request)
        } catch {
            throw AccountError(
                .serviceUnavailable, "the registration of this app at \(issuer) could not be removed",
                hint: "the next sign-in uses it again", cause: RequestFailure(error))
        }
        // RFC 7592, section 2.3. After a 401 or 404, the registration is already gone.
        guard [200, 204, 401, 404].contains(response.status) else {
            throw AccountError(
                .serviceUnavailable,
                "the registration of this app at \(issuer) could not be removed (\(response.status))",
                hint: "the next sign-in uses it again")
        }
        try await registrations.remove(registration)
    }
}

extension AuthorityError {
    /// The error of a registration that could not be made or stored.
    fileprivate init(registering error: any Error) {
        switch error {
        case let error as AccountError: self = .misconfigured("the registration of this app: \(error)")
        default: self.init(error)
        }
    }
}
