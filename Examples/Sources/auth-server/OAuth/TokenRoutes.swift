import HTTPTypes
import Hummingbird

/// `POST /oauth/token` and `POST /oauth/revoke`.
struct TokenRoutes: Sendable {
    /// The ways to get a token that this server knows.
    enum GrantType: String, CaseIterable {
        case authorizationCode = "authorization_code"
        case password
        case refreshToken = "refresh_token"
        case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    }

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.post("oauth/token", use: token)
        router.post("oauth/revoke", use: revoke)
    }

    /// Source: RFC 6749, sections 4.1.3, 4.3, 5 and 6; RFC 7636, section 4.5; RFC 8628, section 3.4.
    @Sendable
    private func token(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await OAuthForm(request, context: context, clientID: server.settings.clientID)
        guard let grantType = GrantType(rawValue: try form.required("grant_type")) else {
            throw OAuthError(.unsupportedGrantType, "unknown grant_type")
        }
        let reply: JSONObject
        switch grantType {
        case .authorizationCode:
            let signIn = try await server.redeem(
                code: form.required("code"),
                redirectURI: form.required("redirect_uri"),
                verifier: form.required("code_verifier")
            )
            reply = try await self.reply(to: request, signIn)
        case .password:
            let signIn = try await server.signIn(
                username: form.required("username"),
                password: form.required("password"),
                scope: form.scope() ?? .all
            )
            reply = try await self.reply(to: request, signIn)
        case .refreshToken:
            reply = try await server.refresh(form.required("refresh_token"), scope: form.scope()).reply
        case .deviceCode:
            let signIn = try await server.redeem(deviceCode: form.required("device_code"))
            reply = try await self.reply(to: request, signIn)
        }
        return try .json(await server.altered(reply, of: .token), headers: .neverStored)
    }

    private func reply(to request: Request, _ signIn: SignIn) async throws -> JSONObject {
        let origin = try Origin(of: request, usesTLS: server.settings.usesTLS)
        var reply = signIn.tokens.reply
        reply["id_token"] = try await server.idToken(for: signIn, issuer: origin.text).map { .string($0) }
        return reply
    }

    /// Source: RFC 7009. `token_type_hint` is only a hint and not needed here.
    @Sendable
    private func revoke(_ request: Request, context: ServerContext) async throws -> Response {
        let form = try await OAuthForm(request, context: context, clientID: server.settings.clientID)
        try await server.revoke(form.required("token"))
        return Response(status: .ok, headers: .neverStored)
    }
}
