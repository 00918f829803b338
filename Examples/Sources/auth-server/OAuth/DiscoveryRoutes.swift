import Hummingbird

/// The description of the server that a client starts from, under both of its well-known names.
///
/// Source: OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3; RFC 9207, section 3.
struct DiscoveryRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.get(".well-known/openid-configuration", use: document)
        router.get(".well-known/oauth-authorization-server", use: document)
    }

    @Sendable
    private func document(_ request: Request, context: ServerContext) async throws -> Response {
        let origin = try Origin(of: request, usesTLS: server.settings.usesTLS)
        return try .json(await server.altered(Self.document(for: origin), of: .discovery))
    }

    static func document(for origin: Origin) -> JSONObject {
        [
            "issuer": .string(origin.text),
            "authorization_endpoint": .string(origin.url("/oauth/authorize")),
            "authorization_response_iss_parameter_supported": true,
            "token_endpoint": .string(origin.url("/oauth/token")),
            "userinfo_endpoint": .string(origin.url("/oauth/userinfo")),
            "revocation_endpoint": .string(origin.url("/oauth/revoke")),
            "device_authorization_endpoint": .string(origin.url("/oauth/device_authorization")),
            "jwks_uri": .string(origin.url("/oauth/jwks")),
            "grant_types_supported": .array(TokenRoutes.GrantType.allCases.map { .string($0.rawValue) }),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "code_challenge_methods_supported": [.string(CodeChallenge.method)],
            "id_token_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "scopes_supported": .array(Scope.all.names.map { .string($0) }),
            "subject_types_supported": ["public"],
            "claims_supported": [
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "nickname", "preferred_username",
                "picture", "updated_at", "email", "email_verified",
                "phone_number", "groups",
            ],
        ]
    }
}
