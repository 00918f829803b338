import HTTPTypes
import Hummingbird
import NIOFoundationEssentialsCompat

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `POST` at the registration endpoint, and `GET`, `PUT` and `DELETE` at a registration.
///
/// Source: RFC 7591; RFC 7592, section 2.
struct RegistrationRoutes: Sendable {
    static let path = "/oauth/register"

    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        guard server.settings.registration != nil else { return }
        router.post(RouterPath(Self.path), use: register)
        router.get(RouterPath(Self.path + "/:id"), use: read)
        router.put(RouterPath(Self.path + "/:id"), use: update)
        router.delete(RouterPath(Self.path + "/:id"), use: remove)
    }

    private struct Metadata: Decodable {
        var clientID: String?
        var redirectURIs: [String]
        var authenticationMethod: String?
        var grantTypes: [String]?
        var clientName: String?
        var scope: String?

        enum CodingKeys: String, CodingKey {
            case clientID = "client_id"
            case redirectURIs = "redirect_uris"
            case authenticationMethod = "token_endpoint_auth_method"
            case grantTypes = "grant_types"
            case clientName = "client_name"
            case scope
        }
    }

    @Sendable
    private func register(_ request: Request, context: ServerContext) async throws -> Response {
        guard let settings = server.settings.registration else { throw HTTPError(.notFound) }
        let metadata: Metadata
        switch try await self.metadata(of: request, context) {
        case .success(let sent): metadata = sent
        case .failure(let refusal): return try refused(refusal)
        }
        var client = RegisteredClient(id: RandomText.token(prefix: "client_"), redirectURIs: metadata.redirectURIs)
        let method = metadata.authenticationMethod.flatMap { ClientSecret.Method(rawValue: $0) }
        if settings.issuesSecrets || method != nil {
            client.secret = ClientSecret(text: RandomText.token(prefix: "secret_"), methods: [method ?? .basic])
        }
        if settings.isManaged { client.managementToken = RandomText.token(prefix: "registration_") }
        server.settings.clients[client.id] = client
        let origin = try Origin(of: request, settings: server.settings)
        let response = await server.altered(self.response(client, metadata, at: origin), of: .registration)
        return try .json(response, status: .created, headers: .neverStored)
    }

    private func response(_ client: RegisteredClient, _ metadata: Metadata, at origin: Origin) -> JSONObject {
        var response: JSONObject = [
            "client_id": .string(client.id),
            "redirect_uris": .array(client.redirectURIs.map { .string($0) }),
            "token_endpoint_auth_method": .string(client.secret?.methods.first?.rawValue ?? "none"),
            "grant_types": .array((metadata.grantTypes ?? []).map { .string($0) }),
        ]
        response["client_name"] = metadata.clientName.map { .string($0) }
        response["scope"] = metadata.scope.map { .string($0) }
        if let secret = client.secret {
            response["client_secret"] = .string(secret.text)
            response["client_secret_expires_at"] = 0
        }
        if let token = client.managementToken {
            response["registration_client_uri"] = .string(origin.url(Self.path + "/" + client.id))
            response["registration_access_token"] = .string(token)
        }
        return response
    }

    private func client(of request: Request, _ context: ServerContext) throws -> RegisteredClient {
        guard let id = context.parameters.get("id"), let client = server.settings.clients[id],
            let token = client.managementToken, request.headers.bearerToken == token
        else { throw BearerChallenge(.invalidToken, "the registration is unknown") }
        return client
    }

    @Sendable
    private func read(_ request: Request, context: ServerContext) async throws -> Response {
        let client = try client(of: request, context)
        return try .json(["client_id": client.id], headers: .neverStored)
    }

    @Sendable
    private func update(_ request: Request, context: ServerContext) async throws -> Response {
        var client = try client(of: request, context)
        let metadata: Metadata
        switch try await self.metadata(of: request, context) {
        case .success(let sent): metadata = sent
        case .failure(let refusal): return try refused(refusal)
        }
        guard metadata.clientID == client.id else {
            return try refused(Refusal(code: "invalid_client_metadata", explanation: "the client_id is another one"))
        }
        client.redirectURIs = metadata.redirectURIs
        server.settings.clients[client.id] = client
        let origin = try Origin(of: request, settings: server.settings)
        return try .json(response(client, metadata, at: origin), headers: .neverStored)
    }

    @Sendable
    private func remove(_ request: Request, context: ServerContext) async throws -> Response {
        let client = try client(of: request, context)
        server.settings.clients[client.id] = nil
        return Response(status: .noContent, headers: .neverStored)
    }

    private struct Refusal: Error {
        var code: String
        var explanation: String
    }

    private func metadata(of request: Request, _ context: ServerContext) async throws -> Result<Metadata, Refusal> {
        let body = try await request.body.collect(upTo: context.maxUploadSize)
        guard let metadata = try? JSONDecoder().decode(Metadata.self, from: body) else {
            return .failure(
                Refusal(
                    code: "invalid_client_metadata", explanation: "the body must be JSON with redirect_uris"))
        }
        guard !metadata.redirectURIs.isEmpty, metadata.redirectURIs.allSatisfy({ RedirectURI($0) != nil }) else {
            return .failure(
                Refusal(
                    code: "invalid_redirect_uri",
                    explanation: "a redirect URI is missing or not on the loopback interface"))
        }
        return .success(metadata)
    }

    private func refused(_ refusal: Refusal) throws -> Response {
        let body: JSONObject = ["error": .string(refusal.code), "error_description": .string(refusal.explanation)]
        return try .json(body, status: .badRequest, headers: .neverStored)
    }
}
