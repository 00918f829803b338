import AccountKit
import AccountSupport
import Logging

/// The endpoints of one service that identify the user of a token.
extension ServiceClients {
    // MARK: User info (OpenID Connect Core, section 5.3)

    func userInfo(
        with credentials: Credentials
    ) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard let url = try await connection.documents.endpoint(.userInfo)?.url else {
            throw connection.documents.flaw(of: .userInfo) ?? .misconfigured(noUserInfo)
        }
        return try await userInfo(with: credentials, at: url)
    }

    var noUserInfo: String { "\(connection.name) has no user info endpoint, so it cannot identify the user of a token" }

    func userInfo(
        with credentials: Credentials, at url: ServiceURL
    ) async throws(AuthorityError) -> (identity: Identity, response: ServiceResponse) {
        guard credentials.accessToken.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .unclear("the stored token contains characters that cannot be sent")
        }
        var request = ServiceRequest(url: url)
        try request.authorize(with: credentials)
        let response = try await connection.send(request)
        let parser = ResponseParser(
            .userInfo, sent: request.secrets + credentials.tokens, quirks: connection.quirks,
            isProved: credentials.requiresProof)
        return (try parser.identity(in: response, from: connection.issuer, for: clientID), response)
    }

    // MARK: Introspection (RFC 7662)

    /// Returns the user from the introspection endpoint (RFC 7662, section 2). Returns `nil` if there is no endpoint,
    /// if the response identifies no user, or if the token is inactive. An inactive token is not an error: services
    /// also report a token as inactive if this client may not introspect it (section 2.2).
    private func introspection(of credentials: Credentials) async throws(AuthorityError) -> Identity? {
        guard let endpoint = try await connection.documents.endpoint(.introspection) else { return nil }
        var form = FormBody()
        form.append("token", credentials.accessToken)
        form.append("token_type_hint", "access_token")
        let request = try await self.request(
            form, to: endpoint, as: client(of: credentials),
            authentication: endpoint.document.tokenAuthentication)
        let response = try await connection.send(request)
        let parser = ResponseParser(
            .introspection, sent: request.secrets + credentials.tokens, quirks: connection.quirks)
        let claims = try parser.object(in: response)
        guard claims["active"]?.flag == true else { return nil }
        let username = claims["username"]?.text
        guard let id = claims["sub"]?.text ?? username, !id.isEmpty else { return nil }
        return parser.text.passable(Identity(id: id, username: username))
    }

    /// Returns the user from the introspection endpoint, and `nil` after a failure that does not matter.
    ///
    /// - Parameter isOptional: Whether only a cancellation matters. If not, all failures matter except a refusal, which is
    ///   about this client, and not about the token: the service may not allow the client to ask (RFC 7662, section 2.3).
    func introspected(_ credentials: Credentials, isOptional: Bool) async throws(AuthorityError) -> Identity? {
        do throws(AuthorityError) {
            return try await introspection(of: credentials)
        } catch {
            guard isOptional ? !error.isCancellation : error.refusesClient else { throw error }
            connection.logger?.debug("the introspection endpoint named no user", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

extension AuthorityError {
    fileprivate var refusesClient: Bool {
        switch self {
        case .oauthError("server_error", _), .oauthError("temporarily_unavailable", _): false
        case .oauthError, .unauthorized, .refused, .forbidden, .misconfigured: true
        default: false
        }
    }
}
