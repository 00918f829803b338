import HTTPTypes
import Hummingbird
import NIOCore

/// `POST` at the token and revocation endpoints.
struct TokenRoutes: Sendable {
    /// The grant types that this server supports.
    enum GrantType: String, CaseIterable {
        case authorizationCode = "authorization_code"
        case password
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
        case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

        /// The grant type of a form, or `nil` if it is unknown.
        init?(in body: ByteBuffer) {
            // The endpoint reports the error of an invalid form to the client.
            guard let form = try? FormBody.parameters(in: String(buffer: body)) else { return nil }
            self.init(rawValue: form["grant_type"] ?? "")
        }
    }

    let server: AuthorizationServer

    private var personality: Personality { server.settings.personality }

    func add(to router: Router<ServerContext>) {
        let endpoints = server.settings.personality.endpoints
        router.post(RouterPath(endpoints.token), use: token)
        if let path = endpoints.revocation {
            router.post(RouterPath(path), use: revoke)
        }
    }

    /// Source: RFC 6749, sections 4.1.3, 4.3, 4.4, 5 and 6; RFC 7636, section 4.5; RFC 8628, section 3.4; RFC 8693, section 2.
    @Sendable
    private func token(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await OAuthForm(request, context: context, server: server)
        let grantType = GrantType(rawValue: try form.required("grant_type"))
        guard let grantType, server.settings.grantTypes.contains(grantType) else {
            throw OAuthError(.unsupportedGrantType, "unknown grant_type")
        }
        if personality.secretGrants.contains(grantType) { try form.requireSecret() }
        let target = try form.target()
        let key = try await provenKey(in: request, form)
        var response: JSONObject
        switch grantType {
        case .authorizationCode:
            let signIn = try await server.redeem(
                code: form.required("code"),
                redirectURI: form.required("redirect_uri"),
                verifier: form.required("code_verifier"),
                target: target
            )
            response = try await self.response(to: request, signIn, for: form.clientID)
        case .password:
            let signIn = try await server.signIn(
                username: form.required("username"),
                password: form.required("password"),
                scope: form.scope() ?? server.settings.defaultScope,
                target: target
            )
            response = try await self.response(to: request, signIn, for: form.clientID)
        case .clientCredentials:
            response = personality.tokenResponse(
                try await server.issueTokens(
                    toClient: form.clientID, scope: form.scope() ?? Scope(names: ["profile"]), target: target))
        case .refreshToken:
            try await server.requireKey(key, of: form.required("refresh_token"))
            let tokens = try await server.refresh(
                form.required("refresh_token"),
                scope: form.scope(),
                target: target
            )
            response = personality.tokenResponse(tokens)
        case .deviceCode:
            let signIn = try await server.redeem(deviceCode: form.required("device_code"), target: target)
            response = try await self.response(to: request, signIn, for: form.clientID)
        case .jwtBearer:
            let subject = try form.workload(form.required("assertion"), or: .invalidGrant)
            response = try await self.response(toWorkload: subject, form, target)
        case .tokenExchange where form["subject_token_type"] == WorkloadAssertions.subjectTokenType:
            let subject = try form.workload(form.required("subject_token"), or: .invalidRequest)
            var members = try await self.response(toWorkload: subject, form, target)
            members["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
            response = members
        case .tokenExchange:
            let type = "urn:ietf:params:oauth:token-type:access_token"
            guard try form.required("subject_token_type") == type, form["requested_token_type"] ?? type == type else {
                throw OAuthError(.invalidRequest, "only access tokens are exchanged, and for access tokens")
            }
            let tokens = try await server.exchange(
                form.required("subject_token"), scope: form.scope(), target: target)
            var members = personality.tokenResponse(tokens)
            members["issued_token_type"] = .string(type)
            response = members
        }
        if let key, case .string(let token)? = response["access_token"] {
            try await server.bind(token, to: key)
            response["token_type"] = "DPoP"
        }
        return try personality.encode(await server.altered(response, of: .token), for: request)
    }

    /// Some services spend a refresh token although they refuse the proof.
    private func provenKey(in request: Request, _ form: OAuthForm) async throws -> String? {
        do {
            return try await server.provenKey(in: request)
        } catch let error as OAuthError where error.code == .useDPoPNonce && personality.refusedProofSpendsToken {
            if let token = form["refresh_token"] { try await server.spend(token) }
            throw error
        }
    }

    private func response(toWorkload subject: String, _ form: OAuthForm, _ target: Target) async throws -> JSONObject {
        personality.tokenResponse(
            try await server.issueTokens(
                toClient: subject, scope: form.scope() ?? Scope(names: ["profile"]), target: target))
    }

    private func response(to request: Request, _ signIn: SignIn, for clientID: String) async throws -> JSONObject {
        let origin = try Origin(of: request, settings: server.settings)
        var response = personality.tokenResponse(signIn.tokens)
        response["id_token"] = try await server.idToken(for: signIn, to: clientID, origin: origin).map { .string($0) }
        return response
    }

    /// Source: RFC 7009. `token_type_hint` is only a hint, and this server ignores it.
    @Sendable
    private func revoke(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await OAuthForm(request, context: context, server: server)
        _ = try await server.provenKey(in: request)
        try await server.revoke(form.required("token"))
        return Response(status: .ok, headers: .neverStored)
    }
}
