import HTTPTypes
import Hummingbird

/// An API that names its authorization server, which is this server.
///
/// A request needs a token for the resource (RFC 8707), which is the URL of the API, and with all scopes of the API. A
/// refusal has a challenge that names the metadata (RFC 9728, section 5.1) and the missing permission (RFC 6750, section
/// 3; RFC 9470, section 3).
struct APIRoutes: Sendable {
    static let wellKnown = "/.well-known/oauth-protected-resource"

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        guard let api = server.settings.api else { return }
        router.get(RouterPath(api.path), use: call)
        router.post(RouterPath(api.path), use: call)
        switch api.place {
        case .challenge, .path: router.get(RouterPath(Self.wellKnown + api.resourcePath), use: metadata)
        case .root: router.get(RouterPath(Self.wellKnown), use: metadata)
        case .none: break
        }
    }

    @Sendable
    private func metadata(_ request: Request, context: ServerContext) async throws -> Response {
        guard let api = server.settings.api else { throw HTTPError(.notFound) }
        let origin = try Origin(of: request, settings: server.settings)
        var document: JSONObject = [
            "resource": .string(origin.url(api.resourcePath)),
            "authorization_servers": [.string(server.settings.personality.issuer(for: origin))],
            "bearer_methods_supported": ["header"],
        ]
        if !api.scopes.isEmpty { document["scopes_supported"] = .array(api.scopes.map { .string($0) }) }
        return try .json(await server.altered(document, of: .resourceMetadata))
    }

    @Sendable
    private func call(_ request: Request, context: ServerContext) async throws -> Response {
        guard let api = server.settings.api else { throw HTTPError(.notFound) }
        let origin = try Origin(of: request, settings: server.settings)
        guard let token = try await server.token(in: request) else {
            let scope = api.challengedScopes.map { $0.joined(separator: " ") }
            return refusal(.unauthorized, nil, ["scope": scope], origin, api)
        }
        guard let holder = try await server.holder(ofAPIToken: token, for: origin.url(api.resourcePath)) else {
            return refusal(.unauthorized, "invalid_token", [:], origin, api)
        }
        guard holder.scope.isSuperset(of: api.scopes) else {
            return refusal(
                .forbidden, "insufficient_scope", ["scope": api.scopes.joined(separator: " ")], origin, api)
        }
        if let name = api.authenticationClass, holder.authenticationClass != name {
            return refusal(
                .unauthorized, "insufficient_user_authentication", ["acr_values": name, "max_age": "300"], origin, api)
        }
        if let response = api.response { return try .json(response) }
        return try .json(["user": holder.username])
    }

    private func refusal(
        _ status: HTTPResponse.Status, _ error: String?, _ parameters: [String: String?], _ origin: Origin,
        _ api: APISettings
    ) -> Response {
        var all = parameters.compactMapValues { $0 }
        all["error"] = error
        if api.place == .challenge { all["resource_metadata"] = origin.url(Self.wellKnown + api.resourcePath) }
        var headers = HTTPFields.neverStored
        headers[.wwwAuthenticate] =
            "Bearer " + all.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ", ")
        return Response(status: status, headers: headers)
    }
}

extension AuthorizationServer {
    /// The user of a token and the token's scope, or `nil` if the token is not valid for the resource.
    func holder(
        ofAPIToken token: String, for resource: String
    ) throws -> (username: String, scope: Set<String>, authenticationClass: String?)? {
        let now = clock.now
        guard case .user(let username, let scope) = try update({ $0.grants.use(token, kind: .oauth, now: now) }),
            let target = state.grants.target(ofAccessToken: token), target.resources.contains(resource)
        else { return nil }
        return (username, Set(scope.names), target.authenticationClass)
    }
}

extension GrantLedger {
    /// The target of an access token: its own resources, and the authentication class of its sign-in.
    func target(ofAccessToken token: String) -> (resources: [String], authenticationClass: String?)? {
        accessTokens[token].map { ($0.resources, grants[$0.grantID]?.target.authenticationClass) }
    }
}
