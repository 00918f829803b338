import AccountKit
import AccountSupport

/// The response to a registration or an update.
extension ClientRegistrar {
    /// Reads the response to a registration (RFC 7591, section 3.2.1) or to an update. Some services omit an unchanged
    /// management token in the response to an update.
    func readRegistration(
        from response: ServiceResponse, to request: ServiceRequest, for needed: NeededRegistration,
        updating stored: ClientRegistration? = nil
    ) throws(AuthorityError) -> ClientRegistration {
        let object = try ResponseParser(.registration, sent: request.secrets).responseObject(in: response)
        let flaw = "\(connection.name) registered this app, but "
        guard !object.isAmbiguous, let clientID = object.members["client_id"]?.text, !clientID.isEmpty,
            clientID.utf8.count <= 2048, clientID.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
        else { throw .unclear(flaw + "sent no valid client ID") }
        if let value = object.members["redirect_uris"], value != .null {
            guard value.list?.contains(needed.redirectURI) == true else {
                throw .misconfigured(flaw + "changed the redirect URI, so the browser would return elsewhere")
            }
        }
        var registration = ClientRegistration(
            issuer: connection.name, clientID: clientID, redirectURI: needed.redirectURI, scopes: needed.scopes,
            createdAt: connection.clock.now)
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
            let url = try? ServiceURL(text), url.origin == needed.endpoint.url.origin
        {
            registration.management = .init(url: text, token: token)
        }
        return registration
    }

    /// Returns the date when the secret expires; `nil` for 0, which means never, and for an implausible value.
    private func secretExpiry(_ value: JSONValue, _ flaw: String) throws(AuthorityError) -> Date? {
        guard value.decimal != 0, let date = value.date else { return nil }
        guard date > connection.clock.now else {
            throw .unclear(flaw + "sent a client secret that has already expired")
        }
        return date
    }
}
