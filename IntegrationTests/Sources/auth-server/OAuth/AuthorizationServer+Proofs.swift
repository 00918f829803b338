import HTTPTypes
import Hummingbird

extension AuthorizationServer {
    /// Returns the thumbprint of the key that a client proves in a request to the token or revocation endpoint; `nil` for
    /// a request without a proof.
    ///
    /// Source: RFC 9449, section 5.
    func provenKey(in request: Request) throws -> String? {
        guard settings.proofs != .off, request.headers[.dpop] != nil else { return nil }
        do {
            return try provenKey(in: request, accessToken: nil, role: .authorizationServer)
        } catch let refusal as DPoPRefusal {
            throw OAuthError(refusal.requiresNonce ? .useDPoPNonce : .invalidDPoPProof, refusal.explanation)
        }
    }

    /// Returns the access token of a request to a protected resource, or `nil` if there is none. Checks the proof for a
    /// token that is bound to a key.
    ///
    /// Source: RFC 9449, section 7.
    func token(in request: Request) throws -> String? {
        guard let token = request.headers.token(of: "dpop") else {
            guard let token = request.headers.bearerToken else { return nil }
            guard !settings.personality.comparesCaseOfScheme || request.headers[.authorization] == "Bearer " + token
            else {
                throw BearerChallenge(.invalidToken, "the scheme is not Bearer")
            }
            // RFC 9449, section 7.2: a bound token is not valid as a Bearer token.
            guard state.grants.thumbprint(of: token) == nil else {
                throw DPoPChallenge(.invalidToken, "the token is bound to a key")
            }
            return token
        }
        do {
            let thumbprint = try provenKey(in: request, accessToken: token, role: .api)
            // The caller rejects an unknown token.
            guard state.grants.thumbprint(of: token).map({ $0 == thumbprint }) ?? true else {
                throw DPoPChallenge(.invalidToken, "the token is bound to another key")
            }
            return token
        } catch let refusal as DPoPRefusal {
            throw DPoPChallenge(refusal.requiresNonce ? .useNonce : .invalidProof, refusal.explanation)
        }
    }

    /// Checks that a refresh token is not bound to another key.
    ///
    /// Source: RFC 9449, section 5.
    func requireKey(_ thumbprint: String?, of refreshToken: String) throws {
        guard let bound = state.grants.thumbprint(of: refreshToken), bound != thumbprint else { return }
        throw OAuthError(.invalidGrant, "the refresh token is bound to another key", credential: .refreshToken)
    }

    /// Binds the grant of a token to a key.
    func bind(_ accessToken: String, to thumbprint: String) throws {
        try update { $0.grants.bind(accessToken, to: thumbprint) }
    }

    /// The nonce for the `DPoP-Nonce` field of a response, if the server requires nonces.
    func nonce(for role: ProofLedger.Role) -> String? {
        settings.proofs == .nonces ? updateProofs { $0.nonce(for: role) } : nil
    }

    private func provenKey(in request: Request, accessToken: String?, role: ProofLedger.Role) throws -> String {
        let fields = request.headers[values: .dpop]
        guard fields.count == 1 else { throw DPoPRefusal("the request needs one proof") }
        let proof = try DPoPProof(fields[0])
        let url = try Origin(of: request, settings: settings).url(request.uri.path)
        let (nonce, now) = (nonce(for: role), clock.now)
        try updateProofs {
            try $0.check(
                proof, method: request.method.rawValue, url: url, accessToken: accessToken, nonce: nonce, now: now)
        }
        return proof.thumbprint
    }
}

/// The refusal of a protected resource that accepts bound tokens.
///
/// Source: RFC 9449, section 7.1.
struct DPoPChallenge: Error, Equatable {
    enum Code: String {
        case invalidToken = "invalid_token"
        case invalidProof = "invalid_dpop_proof"
        case useNonce = "use_dpop_nonce"
    }

    let code: Code
    let explanation: String

    init(_ code: Code, _ explanation: String) {
        self.code = code
        self.explanation = explanation
    }
}

extension DPoPChallenge: HTTPResponseError {
    var status: HTTPResponse.Status { .unauthorized }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var headers = HTTPFields.neverStored
        headers[.wwwAuthenticate] =
            #"DPoP algs="ES256", error="\#(code.rawValue)", error_description="\#(explanation)""#
        return Response(status: status, headers: headers)
    }
}

/// Adds the nonce for the next proof to each response.
///
/// Source: RFC 9449, sections 8.2 and 9.
struct NonceMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let server: AuthorizationServer

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let challenge as DPoPChallenge {
            response = try challenge.response(from: request, context: context)
        }
        let endpoints = server.settings.personality.endpoints
        let isToken = [endpoints.token, endpoints.revocation, endpoints.pushedAuthorization].contains(request.uri.path)
        response.headers[.dpopNonce] = await server.nonce(for: isToken ? .authorizationServer : .api)
        return response
    }
}

extension HTTPField.Name {
    static let dpop = HTTPField.Name("DPoP")!
    static let dpopNonce = HTTPField.Name("DPoP-Nonce")!
}
