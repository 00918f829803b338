public import AccountKit

extension OAuthAuthority: DeviceAuthority {
    /// Asks for a code that the user enters on another device (RFC 8628, section 3.1).
    ///
    /// - Throws: An `AuthoritySignal`: `misconfigured` if the service has no such sign-in.
    public func beginDeviceSignIn() async throws(AuthoritySignal) -> DeviceAuthorization {
        guard let url = try await endpoints().deviceAuthorizationURL else {
            throw .misconfigured("\(issuer) offers no sign-in on another device")
        }
        var form = FormBody()
        if !scopes.isEmpty { form.append("scope", scopes.joined(separator: " ")) }
        let request = HTTPRequest(url: url, form: identified(form, as: try registeredClient()))
        return try ReplyReading(.deviceAuthorization, sent: request.secrets, dialect: dialect)
            .deviceAuthorization(in: try await send(request))
    }

    /// Asks once whether the user has entered the code (RFC 8628, section 3.4).
    ///
    /// - Returns: The account, as `account(with:signedInAs:)` puts it together.
    /// - Throws: An `AuthoritySignal`: `oauthError(.authorizationPending)` and the others of section 3.5.
    public func pollDeviceSignIn(_ authorization: DeviceAuthorization) async throws(AuthoritySignal) -> Account {
        var form = FormBody()
        form.append("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
        form.append("device_code", authorization.deviceCode)
        return try await account(with: try await requestCredentials(form, for: try registeredClient()), signedInAs: nil)
    }
}
