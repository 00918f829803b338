import AccountKit

/// A token request whose connection to the endpoint is open.
struct OAuthExchange: PreparedExchange {
    let request: PreparedRequest
    let parser: ResponseParser

    /// The client, or `nil` for a workload without a client ID.
    let client: RegisteredClient?

    /// The endpoint, if AccountKit may store it with the tokens.
    var endpoint: TokenEndpoint?

    /// The issuer whose tokens the exchange checks; `nil` at the sign-in of a user.
    var issuer: Issuer?

    /// The account for which the request obtains tokens; `nil` at a sign-in.
    var owner: Account?

    /// The requested scopes. If the response contains no scopes, the service granted all of them (RFC 6749, section
    /// 5.1).
    var scopes: [String] = []

    /// The resources of a sign-in, which each refresh repeats (RFC 8707, section 2.2).
    var resources: [String] = []

    /// Whether this request and each refresh leave out the ``resources``.
    var omitsResource = false

    /// The request of the session of a client without a user.
    var machine: MachineGrant?

    /// The registrations that may contain the client. The user cannot correct the ID of a registered client.
    var registrations: ClientRegistrations?

    /// The key that the tokens are bound to (RFC 9449).
    var key: ProofKey?

    /// The same request to the same endpoint with another proof.
    var withNewProof: (@Sendable () async throws(AuthorityError) -> OAuthExchange)?

    var withoutScopes: (@Sendable () async throws(AuthorityError) -> OAuthExchange)?

    /// The same request to the token endpoint in the metadata, which spends nothing.
    var toCurrentEndpoint: (@Sendable () async throws(AuthorityError) -> OAuthExchange)?

    /// Returns whether the request went to the token endpoint that the service names now; `nil` if AccountKit has just
    /// read the endpoint.
    var isAtCurrentEndpoint: (@Sendable () async -> Bool)?

    func send(if mayBeSent: @escaping @Sendable () -> Bool) async throws -> Credentials {
        try await exchange(if: mayBeSent).credentials
    }

    func exchange(
        if mayBeSent: @escaping @Sendable () -> Bool
    ) async throws(AuthorityError) -> (credentials: Credentials, response: ServiceResponse) {
        let (parser, response, nonce) = try await response(if: mayBeSent)
        var credentials: Credentials
        do throws(AuthorityError) {
            credentials = try parser.credentials(in: response, for: client?.id, refreshing: owner?.credentials)
        } catch {
            if let isAtCurrentEndpoint, let toCurrentEndpoint, await !isAtCurrentEndpoint() {
                return try await toCurrentEndpoint().exchange(if: mayBeSent)
            }
            // An endpoint that the service no longer uses cannot end the session.
            if let isAtCurrentEndpoint, error.isAnswerOfEndpoint, await !isAtCurrentEndpoint() {
                throw .unclear("the service may have moved its token endpoint (\(error.userText))")
            }
            // The tokens belong to that client, so that only another sign-in, which registers the app again, helps.
            if case .oauthError("invalid_client", _) = error, await isRegistered() {
                throw .oauthError(
                    "unauthorized_client", description: "the service no longer knows the registration of this app")
            }
            guard case .oauthError("invalid_scope", _) = error, let withoutScopes else { throw error }
            return try await withoutScopes().exchange(if: mayBeSent)
        }
        if credentials.lacksAccessToken { return (credentials, response) }
        if credentials.scopes.isEmpty { credentials.scopes = scopes }
        credentials.resources = resources
        credentials.omitsResource = omitsResource
        (credentials.proofKey, credentials.proofNonce) = (key?.secret, nonce)
        credentials.tokenEndpoint = endpoint
        credentials.clientSecret = client?.secret.map { .secret($0) } ?? .none
        credentials.clientAuthentication = client?.authentication?.name
        if let machine {
            credentials.machine = machine
            // RFC 6749, section 4.4.3: the response should contain no refresh token.
            (credentials.refreshToken, credentials.idToken) = (nil, nil)
            // The secret may change during the session, and the archive must not contain it.
            credentials.clientSecret = .unknown
        } else if owner?.credentials.machine != nil {
            // A token for another API. Its ID token, if any, cannot name the user of this session.
            (credentials.idToken, credentials.clientSecret) = (nil, .unknown)
        }
        // The tokens of a user's sign-in are checked together with the user, because only then can they be revoked.
        guard let issuer else { return (credentials, response) }
        let check = TokenCheck(issuer: issuer, clientID: client?.id, owner: owner, spendsRefreshToken: parser.isRefresh)
        try check.check(&credentials)
        return (credentials, response)
    }

    /// Sends the request. If the service refused only the nonce or the date of the proof, sends the request again with
    /// another proof: the service has not used the token in the first request (RFC 9449, section 8).
    ///
    /// - Returns: Also the nonce for the next proof, if the service uses nonces.
    private func response(
        if mayBeSent: @escaping @Sendable () -> Bool
    ) async throws(AuthorityError) -> (ResponseParser, ServiceResponse, nonce: String?) {
        let response = try await request.send(if: mayBeSent)
        guard let withNewProof, request.request.isWorthRepeating(after: response) else {
            return (parser, response, response.nonce ?? request.request.proof?.nonce)
        }
        let repeated = try await withNewProof()
        let second = try await repeated.request.send(if: mayBeSent)
        return (repeated.parser, second, second.nonce ?? repeated.request.request.proof?.nonce)
    }

    private func isRegistered() async -> Bool {
        guard let issuer, owner != nil, let registrations, let client else { return false }
        // If the registrations cannot be read, only the advice is missing.
        return (try? await registrations.registration(at: issuer.identifier))?.clientID == client.id
    }

    func abandon() { request.abandon() }
}

extension AuthorityError {
    /// Whether the endpoint of the request refused it, so that another endpoint may accept it.
    fileprivate var isAnswerOfEndpoint: Bool {
        switch self {
        case .oauthError, .refused: true
        default: false
        }
    }
}
