import HTTPTypes
import Hummingbird

/// `GET /oauth/userinfo`, and `POST`, which means the same.
///
/// Source: OpenID Connect Core 1.0, section 5.3.
struct UserInfoRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.get("oauth/userinfo", use: userInfo)
        router.post("oauth/userinfo", use: userInfo)
    }

    @Sendable
    private func userInfo(_ request: Request, context: ServerContext) async throws -> Response {
        guard let token = request.headers.bearerToken else { throw BearerChallenge.noToken }
        let claims = try await server.claims(forAccessToken: token)
        return try .json(await server.altered(claims, of: .userInfo), headers: .neverStored)
    }
}
