import AccountKit
import Sealing

extension OAuthAuthority {
    var quirks: ServiceQuirks { service?.quirks ?? .standard }

    /// - Parameter owner: Whom the tokens were issued to, if that is known.
    func registeredClient(_ owner: String? = nil) throws(AuthorityError) -> String {
        if let clientID = owner ?? clientID { return clientID }
        let place = service.map { " at \($0.registrationPage)" } ?? ""
        throw .misconfigured(
            "\(issuer) knows programs by a client identifier, and this one has none: register it\(place), and give the "
                + "identifier that you get there")
    }

    /// Where nobody said what to ask for, also `offline_access`, for a refresh token, if the service lists it.
    func requestedScopes() async throws(AuthorityError) -> [String] {
        guard asksForOfflineAccess, !scopes.contains(Scope.offlineAccess),
            try await documents.scopes()?.contains(Scope.offlineAccess) == true
        else { return scopes }
        return scopes + [Scope.offlineAccess]
    }

    /// Adds the client's identifier and secret to a form (RFC 6749, section 2.3.1). The secret is this client's only.
    ///
    /// - Parameter methods: What the document of the endpoint says that it takes; `nil` if it does not say.
    func request(
        _ form: FormBody, to endpoint: Endpoint, as clientID: String?, authentication methods: [String]?
    ) throws(AuthorityError) -> ServiceRequest {
        guard let clientID else { return ServiceRequest(url: endpoint.url, form: form) }
        var form = form
        guard let clientSecret, clientID == self.clientID else {
            form.append("client_id", clientID)
            return ServiceRequest(url: endpoint.url, form: form)
        }
        let method: ClientAuthentication
        if let known = quirks.clientAuthentication {
            method = known
        } else if let named = ClientAuthentication(methods) {
            method = named
        } else {
            throw .misconfigured(
                "\(issuer) takes no client secret, and this program was given one: leave it out")
        }
        switch method {
        case .post:
            form.append("client_id", clientID)
            form.append("client_secret", clientSecret)
            return ServiceRequest(url: endpoint.url, form: form)
        case .basic:
            var request = ServiceRequest(url: endpoint.url, form: form)
            let pair = Self.basicCredentials(clientID, clientSecret)
            request.authorization = .basic(pair)
            request.secrets += [pair, clientSecret]
            return request
        }
    }

    private static func basicCredentials(_ clientID: String, _ clientSecret: Secret) -> Secret {
        var text = WipedBytes()
        FormBody.encode(clientID.utf8, into: &text)
        text.append(UInt8(ascii: ":"))
        clientSecret.withUnsafeBytes { FormBody.encode($0, into: &text) }
        return Secret(text.base64)
    }

    /// Sends a grant to the token endpoint (RFC 6749, section 5). Once it is sent, only ``exchangeTimeout`` ends the wait
    /// for the response.
    ///
    /// - Parameter resources: The APIs that the access token is for (RFC 8707, section 2.2); `nil` for those of the sign-in.
    func requestTokens(
        _ form: FormBody, for clientID: String, isRefresh: Bool = false, resources: [String]? = nil
    ) async throws(AuthorityError) -> (credentials: Credentials, response: ServiceResponse) {
        let endpoint: Endpoint
        do throws(AuthorityError) {
            guard let named = try await documents.endpoint(.token) else { throw discovery.namesNoToken }
            endpoint = named
        } catch {
            throw error.notSent(at: .preparation)
        }
        var form = form
        for resource in resources ?? options.resources { form.append("resource", resource) }
        var request = try request(
            form, to: endpoint, as: clientID, authentication: endpoint.document.tokenAuthentication)
        request.exchangeTimeout = exchangeTimeout
        let response = try await send(request)
        return (
            try ResponseParser(.token, sent: request.secrets, quirks: quirks, isRefresh: isRefresh).credentials(
                in: response, for: clientID),
            response
        )
    }

    func userInfo(with token: Secret) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard let url = try await documents.endpoint(.userInfo)?.url else {
            throw .misconfigured("\(issuer) offers no user info, so it cannot be asked whose a token is")
        }
        guard token.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .unclear("the stored token has characters that cannot be sent")
        }
        let request = ServiceRequest(url: url, bearer: token)
        let response = try await send(request)
        return (try ResponseParser(.userInfo, sent: request.secrets, quirks: quirks).identity(in: response), response)
    }

    func send(_ request: ServiceRequest) async throws(AuthorityError) -> ServiceResponse {
        try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
    }

    /// A token is for the service that issued it, and for nobody else.
    func checkIssuer(of account: Account) throws(AuthorityError) {
        guard let other = account.issuer else {
            throw .misconfigured("the account does not say which service it is of, so \(issuer) is not sent its token")
        }
        guard issuerIdentifier.isSame(as: other) else {
            throw .misconfigured("the account is of \(other), so \(issuer) is not sent its token")
        }
    }
}
