import AccountKit
import Sealing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: What every way to sign in needs

extension OAuthAuthority {
    /// How the service's messages differ from the standards'.
    var quirks: ServiceQuirks { service?.quirks ?? .standard }

    /// The app, for what only a registered one can do.
    ///
    /// - Parameter owner: Whom the tokens were issued to, if that is known.
    func registeredClient(_ owner: String? = nil) throws(AuthorityError) -> String {
        if let clientID = owner ?? clientID { return clientID }
        let place = service.map { " at \($0.registrationPage)" } ?? ""
        throw .misconfigured(
            "\(issuer) knows programs by a client identifier, and this one has none: register it\(place), and give the "
                + "identifier that you get there")
    }

    /// An endpoint: as it was given, or as the service's documents have it; `nil` if there is none.
    func endpoint(_ name: EndpointName) async throws(AuthorityError) -> Endpoint? {
        try await documents.endpoint(name)
    }

    private func tokenEndpoint() async throws(AuthorityError) -> Endpoint {
        guard let endpoint = try await endpoint(.token) else { throw discovery.namesNoToken }
        return endpoint
    }

    /// What a sign-in asks for: where nobody said it, also for a refresh token, if the service has that for those who ask.
    func requestedScopes() async throws(AuthorityError) -> [String] {
        guard asksForOfflineAccess, try await documents.scopes()?.contains(Scope.offlineAccess) == true else {
            return scopes
        }
        return scopes + [Scope.offlineAccess]
    }

    // MARK: Who asks

    /// A form, with who sends it (RFC 6749, section 2.3.1). The secret is this client's only.
    ///
    /// - Parameters:
    ///   - form: What is asked.
    ///   - endpoint: Who is asked.
    ///   - clientID: Who asks.
    ///   - methods: How the endpoint wants to know; `nil` if it is not said.
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

    /// Identifier and secret, each encoded as in a form, with a colon between (RFC 6749, section 2.3.1), in base64.
    private static func basicCredentials(_ clientID: String, _ clientSecret: Secret) -> Secret {
        var text = WipedBytes()
        FormBody.encode(clientID.utf8, into: &text)
        text.append(UInt8(ascii: ":"))
        clientSecret.withUnsafeBytes { FormBody.encode($0, into: &text) }
        return Secret(Data(text).base64EncodedString())
    }

    // MARK: Requests

    /// Sends a form to the token endpoint and reads the tokens of the response (RFC 6749, section 5).
    ///
    /// Once it is sent, only ``exchangeTimeout`` ends the wait for the response.
    ///
    /// - Parameters:
    ///   - form: The grant; who asks is added.
    ///   - clientID: The client that asks.
    ///   - isRefresh: Whether the grant is a refresh token.
    /// - Returns: The tokens, and the response in which they came.
    func requestTokens(
        _ form: FormBody, for clientID: String, isRefresh: Bool = false
    ) async throws(AuthorityError) -> (credentials: Credentials, response: ServiceResponse) {
        let endpoint: Endpoint
        do {
            endpoint = try await tokenEndpoint()
        } catch {
            throw error.notSent(at: .preparation)
        }
        var form = form
        options.appendResources(to: &form)
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

    /// Asks whose a token is.
    ///
    /// - Returns: The user, and the response that said so.
    func userInfo(with token: Secret) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard let url = try await endpoint(.userInfo)?.url else {
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
