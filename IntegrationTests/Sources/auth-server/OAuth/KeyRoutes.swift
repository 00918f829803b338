import Hummingbird

/// `GET` at `jwks_uri`: the keys that sign ID tokens.
///
/// Source: RFC 7517, section 5.
struct KeyRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        guard let path = server.settings.personality.endpoints.keys else { return }
        router.get(RouterPath(path)) { _, _ in
            try Response.json(["keys": [.object(await server.publicKey)]] as JSONObject)
        }
    }
}
