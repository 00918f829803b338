import AccountKit
import AccountSupport
import HTTPTypes
import Logging

/// The registration that a sign-in needs.
struct NeededRegistration: Sendable {
    let endpoint: Endpoint
    let redirectURI: String
    var scopes: [String]
    let grant: String
}

/// The choice of the client of a sign-in, and the registrations of the app at one service (RFC 7591), their updates and
/// removals (RFC 7592).
struct ClientRegistrar: Sendable {
    let clients: ServiceClients

    /// Shared by all copies of the value.
    let state = RegistrationState()

    var connection: ServiceConnection { clients.connection }
    var client: OAuthClient { clients.client }

    /// Updates the stored registration (RFC 7592, section 2.2), so that stored sessions keep their client, and no unused
    /// registration remains at the service. If an update is not possible, registers the app again. A client with a
    /// secret is not updated: the response may replace the secret, and other sessions have copies of it.
    func updateOrRegister(
        _ needed: NeededRegistration, replacing stored: ClientRegistration?
    ) async throws(AuthorityError) -> ClientRegistration {
        if let stored, let management = stored.management, stored.clientSecret == nil, isKnown(stored) {
            do {
                return try await update(stored, with: management, for: needed)
            } catch {
                if case .noResponse = error { throw error }
                connection.logger?.debug("the registration cannot be updated", metadata: ["error": "\(error)"])
            }
        }
        return try await register(needed)
    }

    /// Updates the registration. The old redirect URI stays valid, because another sign-in may wait for its redirect.
    private func update(
        _ stored: ClientRegistration, with management: ClientRegistration.Management, for needed: NeededRegistration
    ) async throws(AuthorityError) -> ClientRegistration {
        // The caller registers the app again.
        guard let url = try? ServiceURL(management.url) else { throw .unclear("the stored address is not valid") }
        var needed = needed
        needed.scopes = stored.scopes + needed.scopes.filter { !stored.scopes.contains($0) }
        let grants = stored.grants + [needed.grant].filter { !stored.grants.contains($0) }
        var redirectURIs = [needed.redirectURI]
        if stored.redirectURI != needed.redirectURI { redirectURIs.append(stored.redirectURI) }
        var request = ServiceRequest(url: url, bearer: management.token)
        request.method = .put
        setMetadata(
            of: &request, clientID: stored.clientID, redirectURIs: redirectURIs, authentication: "none", grants: grants,
            scopes: needed.scopes)
        var registration = try readRegistration(
            from: try await connection.send(request), to: request, for: needed, updating: stored)
        guard registration.clientID == stored.clientID, registration.clientSecret == nil else {
            throw .unclear("\(connection.name) changed the client in an update")
        }
        registration.grants = grants
        return registration
    }

    /// Sets the metadata of a native app (RFC 7591, section 2; OpenID Connect Dynamic Client Registration, section 2).
    ///
    /// - Parameter clientID: Only for an update.
    private func setMetadata(
        of request: inout ServiceRequest, clientID: String? = nil, redirectURIs: [String], authentication: String,
        grants: [String], scopes: [String]
    ) {
        func list(_ texts: [String]) -> JSONText { JSONText(array: texts.map { JSONText(string: $0) }) }
        var members = [
            (name: "redirect_uris", value: list(redirectURIs)),
            ("token_endpoint_auth_method", JSONText(string: authentication)), ("grant_types", list(grants)),
            ("response_types", list(["code"])), ("application_type", JSONText(string: "native")),
            ("client_name", JSONText(string: client.name)),
        ]
        if let clientID { members.append(("client_id", JSONText(string: clientID))) }
        if !scopes.isEmpty { members.append(("scope", JSONText(string: scopes.joined(separator: " ")))) }
        request.headerFields[.contentType] = "application/json"
        request.body = Data(JSONText(members: members).bytes)
    }

    /// Registers the app for all ways to sign in. If the service does not allow this, registers the app only for the way
    /// of this sign-in.
    private func register(_ needed: NeededRegistration) async throws(AuthorityError) -> ClientRegistration {
        var grants = [GrantType.code]
        if try await offersDeviceSignIn() { grants.append(GrantType.deviceCode) }
        if !grants.contains(needed.grant) { grants.append(needed.grant) }
        do throws(AuthorityError) {
            return try await sendRegistration(needed, grants: grants + [GrantType.refreshToken])
        } catch {
            guard case .oauthError("invalid_client_metadata", _) = error, grants.count > 1 else { throw error }
            return try await sendRegistration(needed, grants: [needed.grant, GrantType.refreshToken])
        }
    }

    /// Whether the service is known to offer a sign-in on another device. This sign-in does not need the answer, so a
    /// document that cannot be read now does not stop it.
    private func offersDeviceSignIn() async throws(AuthorityError) -> Bool {
        do throws(AuthorityError) {
            return try await connection.documents.endpoint(.deviceAuthorization) != nil
        } catch {
            if error.isCancellation { throw error }
            connection.logger?.debug("the device endpoint is unknown", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func sendRegistration(
        _ needed: NeededRegistration, grants: [String]
    ) async throws(AuthorityError) -> ClientRegistration {
        var request = ServiceRequest(url: needed.endpoint.url)
        request.method = .post
        setMetadata(
            of: &request, redirectURIs: [needed.redirectURI],
            authentication: registrationMethod(in: needed.endpoint.document), grants: grants, scopes: needed.scopes)
        let response = try await connection.send(request)
        if [401, 403].contains(response.status) {
            throw .misconfigured(
                "\(connection.name) does not let this app register itself (\(response.status)): register it there yourself, and pass its "
                    + "client ID (on a command line, with --client-id ID)")
        }
        var registration = try readRegistration(from: response, to: request, for: needed)
        registration.grants = grants
        return registration
    }

    /// Returns `none`, the method of a public client. If the service accepts only clients with a secret, returns the first
    /// method in its list that AccountKit supports.
    private func registrationMethod(in document: ServiceDocument) -> String {
        guard let methods = document.tokenAuthentication, !methods.contains("none") else { return "none" }
        return methods.first { ClientAuthentication(rawValue: $0) != nil } ?? "none"
    }

    /// Whether the service probably accepts the client.
    func isKnown(_ stored: ClientRegistration) -> Bool {
        !client.registersAgain && !state.isRejected(stored)
            && (stored.secretExpiresAt.map { $0 > connection.clock.now } ?? true)
    }
}
