import AccountKit
import AccountSupport
import HTTPTypes
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The registration that a sign-in needs.
struct NeededRegistration: Sendable {
    let endpoint: Endpoint
    let redirectURI: String
    var scopes: [String]
    let grant: String

    /// The value of the member `scope`; `nil` if there are no scopes.
    fileprivate var scope: String? { scopes.isEmpty ? nil : scopes.joined(separator: " ") }
}

/// Dynamic registration (RFC 7591) and updates of registrations (RFC 7592).
extension OAuthAuthority {
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
                logger?.debug("the registration cannot be updated", metadata: ["error": "\(error)"])
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
        var metadata = RegistrationRequest(
            clientID: stored.clientID, redirectURIs: [needed.redirectURI],
            tokenEndpointAuthMethod: "none", grantTypes: grants, clientName: client.name, scope: needed.scope)
        if stored.redirectURI != needed.redirectURI { metadata.redirectURIs.append(stored.redirectURI) }
        var request = try registrationRequest(metadata, to: url, bearer: management.token)
        request.method = .put
        var registration = try readRegistration(
            from: try await send(request), to: request, for: needed, updating: stored)
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

    /// Registers the app for all ways to sign in. If the service does not allow this, registers the app only for the way
    /// of this sign-in.
    private func register(_ needed: NeededRegistration) async throws(AuthorityError) -> ClientRegistration {
        var grants = [Self.codeGrant]
        if try await offersDeviceSignIn() { grants.append(Self.deviceCodeGrant) }
        if !grants.contains(needed.grant) { grants.append(needed.grant) }
        do throws(AuthorityError) {
            return try await sendRegistration(needed, grants: grants + ["refresh_token"])
        } catch {
            guard case .oauthError("invalid_client_metadata", _) = error, grants.count > 1 else { throw error }
            return try await sendRegistration(needed, grants: [needed.grant, "refresh_token"])
        }
    }

    /// Whether the service is known to offer a sign-in on another device. This sign-in does not need the answer, so a
    /// document that cannot be read now does not stop it.
    private func offersDeviceSignIn() async throws(AuthorityError) -> Bool {
        do throws(AuthorityError) {
            return try await documents.endpoint(.deviceAuthorization) != nil
        } catch {
            if case .noResponse(.cancelled) = error { throw error }
            logger?.debug("the device endpoint is unknown", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func sendRegistration(
        _ needed: NeededRegistration, grants: [String]
    ) async throws(AuthorityError) -> ClientRegistration {
        let metadata = RegistrationRequest(
            redirectURIs: [needed.redirectURI],
            tokenEndpointAuthMethod: registrationMethod(in: needed.endpoint.document), grantTypes: grants,
            clientName: client.name, scope: needed.scope)
        var request = try registrationRequest(metadata, to: needed.endpoint.url)
        request.method = .post
        let response = try await send(request)
        if [401, 403].contains(response.status) {
            throw .misconfigured(
                "\(issuer) does not let this app register itself (\(response.status)): register it there yourself, and pass its "
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

    /// Reads the response to a registration (RFC 7591, section 3.2.1) or to an update. Some services omit an unchanged
    /// management token in the response to an update.
    private func readRegistration(
        from response: ServiceResponse, to request: ServiceRequest, for needed: NeededRegistration,
        updating stored: ClientRegistration? = nil
    ) throws(AuthorityError) -> ClientRegistration {
        let object = try ResponseParser(.registration, sent: request.secrets).responseObject(in: response)
        let flaw = "\(issuer) registered this app, but "
        guard !object.isAmbiguous, let clientID = object.members["client_id"]?.text, !clientID.isEmpty,
            clientID.utf8.count <= 2048, clientID.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
        else { throw .unclear(flaw + "sent no valid client ID") }
        if let value = object.members["redirect_uris"], value != .null {
            guard value.list?.contains(needed.redirectURI) == true else {
                throw .misconfigured(flaw + "changed the redirect URI, so the browser would return elsewhere")
            }
        }
        var registration = ClientRegistration(
            issuer: issuer, clientID: clientID, redirectURI: needed.redirectURI, scopes: needed.scopes,
            createdAt: clock.now)
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
            ServiceURL(at: url, path: "") == ServiceURL(at: needed.endpoint.url, path: "")
        {
            registration.management = .init(url: text, token: token)
        }
        return registration
    }

    /// Returns the date when the secret expires; `nil` for 0, which means never, and for an implausible value.
    private func secretExpiry(_ value: JSONValue, _ flaw: String) throws(AuthorityError) -> Date? {
        guard value.decimal != 0, let date = value.date else { return nil }
        guard date > clock.now else { throw .unclear(flaw + "sent a client secret that has already expired") }
        return date
    }
}
