import HTTPTypes
import Hummingbird

/// `GET` and `POST` at the user info endpoint, which are equivalent.
///
/// Source: OpenID Connect Core 1.0, section 5.3.
struct UserInfoRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        let path = RouterPath(server.settings.personality.endpoints.userInfo)
        router.get(path, use: userInfo)
        router.post(path, use: userInfo)
    }

    @Sendable
    private func userInfo(_ request: Request, context: ServerContext) async throws -> Response {
        if let refusal = server.settings.personality.refusal(ofUserInfoRequest: request.headers) { return refusal }
        guard let token = try await server.token(in: request) else { throw BearerChallenge.noToken }
        let claims = try await server.claims(forAccessToken: token)
        return try .json(await server.altered(claims, of: .userInfo), headers: .neverStored)
    }
}
