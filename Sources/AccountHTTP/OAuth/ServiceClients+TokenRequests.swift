import AccountKit

/// The token requests of one service. A request first connects to the token endpoint, and then sends a token or code.
extension ServiceClients {
    /// Prepares a grant (RFC 6749, section 5). If `resources` is `nil`, the request contains the resources of the sign-in
    /// (RFC 8707, section 2.2).
    ///
    /// If the documents were not read yet, the request goes to the `stored` endpoint while it is fresh. If the
    /// connection to this endpoint fails, the service may have moved it, so this function reads the documents.
    func prepare(
        _ form: FormBody, as client: RegisteredClient?, isRefresh: Bool = false, resources: [String]? = nil,
        at stored: TokenEndpoint? = nil, key: ProofKey? = nil
    ) async throws(AuthorityError) -> OAuthExchange {
        let (documents, timeout) = (connection.documents, connection.timeout)
        var form = form
        for resource in resources ?? connection.sentResources { form.append("resource", resource) }
        if let stored, !documents.isKnown,
            let endpoint = connection.discovery.endpoint(stored, at: connection.clock.now)
        {
            do throws(AuthorityError) {
                // Leave time for discovery.
                var exchange = try await prepare(
                    form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout / 2, key)
                exchange.isAtCurrentEndpoint = { [documents] in
                    // If the documents cannot be read, the endpoint is unknown.
                    (try? await documents.endpoint(.token))?.url == endpoint.url
                }
                return exchange
            } catch {
                guard error.mayMeanMoved else { throw error }
            }
        }
        let endpoint: Endpoint
        do throws(AuthorityError) {
            guard let named = try await documents.endpoint(.token) else {
                throw documents.flaw(of: .token) ?? connection.discovery.namesNoToken
            }
            endpoint = named
        } catch {
            throw error.notSent(at: .preparation)
        }
        return try await prepare(form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout, key)
    }

    private func prepare(
        _ form: FormBody, as client: RegisteredClient?, isRefresh: Bool, to endpoint: Endpoint,
        within timeout: Duration, _ key: ProofKey?
    ) async throws(AuthorityError) -> OAuthExchange {
        var request = try await self.request(
            form, to: endpoint, as: client, authentication: endpoint.document.tokenAuthentication)
        request.tokenRequestTimeout = connection.tokenRequestTimeout
        request.key = key
        if isRefresh, key != nil, connection.quirks.mayRefuseSpentToken {
            try await obtainNonce(for: request, as: client)
        }
        var exchange = OAuthExchange(
            request: try await connection.transport.prepare(
                request, timeout: timeout, clock: connection.clock, logger: connection.logger),
            parser: ResponseParser(
                .token, sent: request.secrets, quirks: connection.quirks, isRefresh: isRefresh, isProved: key != nil),
            client: client, endpoint: endpoint.stored)
        guard let key else { return exchange }
        exchange.key = key
        exchange.withNewProof = { () async throws(AuthorityError) in
            try await prepare(form, as: client, isRefresh: isRefresh, to: endpoint, within: timeout, key)
        }
        return exchange
    }

    /// Obtains a nonce with a request that contains no token, because the service may spend a refresh token although it refuses
    /// the nonce. Every response has a nonce (RFC 9449, section 8.2), so the error in this one does not matter.
    private func obtainNonce(for refresh: ServiceRequest, as client: RegisteredClient?) async throws(AuthorityError) {
        guard !connection.transport.nonces.hasFreshNonce(for: refresh, at: connection.clock.now) else { return }
        var form = FormBody()
        form.append("grant_type", GrantType.refreshToken)
        if let client { form.append("client_id", client.id) }
        var request = ServiceRequest(url: refresh.url, form: form)
        (request.key, request.isForNonceOnly) = (refresh.key, true)
        do throws(AuthorityError) {
            // The transport remembers the nonce.
            _ = try await connection.send(request)
        } catch {
            throw error.notSent(at: .preparation)
        }
    }
}

extension AuthorityError {
    /// Whether a failure before the request was sent may mean that the service has moved the endpoint.
    fileprivate var mayMeanMoved: Bool {
        switch self {
        case .noResponse(.unknownHost), .noResponse(.refused), .noResponse(.unreachable), .noResponse(.reset),
            .noResponse(.timeout), .untrustedTLS, .notSent:
            true
        default: false
        }
    }
}
