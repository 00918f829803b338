import HTTPTypes
import Hummingbird

/// The discovery documents, at their well-known names.
///
/// Source: OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3; RFC 9207, section 3.
struct DiscoveryRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        for path in server.settings.personality.endpoints.discovery {
            router.get(RouterPath(path), use: document)
        }
    }

    @Sendable
    private func document(_ request: Request, context: ServerContext) async throws -> Response {
        let origin = try Origin(of: request, settings: server.settings)
        let personality = server.settings.personality
        let document = personality.discovery(document(of: personality, at: origin, path: request.uri.path))
        let kind: Controls.AlterableResponse =
            request.uri.path.contains("openid-configuration") ? .openIDConfiguration : .serverMetadata
        // Tests change the document between two commands.
        return try .json(
            await server.altered(await server.altered(document, of: .discovery), of: kind),
            headers: [.cacheControl: "no-store"])
    }

    private func document(of personality: Personality, at origin: Origin, path: String) -> JSONObject {
        let endpoints = personality.endpoints
        var document: JSONObject = [
            "issuer": .string(personality.discoveredIssuer(for: origin, at: path)),
            "authorization_endpoint": .string(origin.url(endpoints.authorization)),
            "token_endpoint": .string(origin.url(endpoints.token)),
            "userinfo_endpoint": .string(origin.url(endpoints.userInfo)),
            "device_authorization_endpoint": .string(origin.url(endpoints.deviceAuthorization)),
            "grant_types_supported": .array(server.settings.grantTypes.map { .string($0.rawValue) }),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "code_challenge_methods_supported": [.string(CodeChallenge.method)],
            "id_token_signing_alg_values_supported": ["EdDSA"],
            "token_endpoint_auth_methods_supported": authenticationMethods,
            "scopes_supported": .array(server.settings.knownScope.names.map { .string($0) }),
            "subject_types_supported": ["public"],
            "claims_supported": [
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "nickname", "preferred_username",
                "picture", "updated_at", "email", "email_verified", "phone_number", "groups",
            ],
        ]
        document["jwks_uri"] = endpoints.keys.map { .string(origin.url($0)) }
        if let revocation = endpoints.revocation {
            document["revocation_endpoint"] = .string(origin.url(revocation))
            document["revocation_endpoint_auth_methods_supported"] = authenticationMethods
        }
        if let pushed = endpoints.pushedAuthorization {
            document["pushed_authorization_request_endpoint"] = .string(origin.url(pushed))
            document["require_pushed_authorization_requests"] = .boolean(personality.requiresPushedRequests)
        }
        if server.settings.registration != nil {
            document["registration_endpoint"] = .string(origin.url(RegistrationRoutes.path))
        }
        if server.settings.acceptsClientMetadata { document["client_id_metadata_document_supported"] = true }
        if server.settings.proofs != .off { document["dpop_signing_alg_values_supported"] = ["ES256"] }
        if personality.namesIssuerInResponses {
            document["authorization_response_iss_parameter_supported"] = true
        }
        return document
    }

    /// The client authentication methods.
    private var authenticationMethods: JSONValue {
        if server.settings.clientAssertions != nil || server.settings.workloads != nil {
            return [.string(ClientAssertions.method)]
        }
        guard let secret = server.settings.clientSecret else { return ["none"] }
        return .array(secret.methods.map { .string($0.rawValue) })
    }
}
