import Hummingbird

/// `GET /oauth/jwks`: the keys that ID tokens are signed with.
///
/// Source: RFC 7517, section 5.
struct KeyRoutes: Sendable {
    let server: AuthorizationServer

    func add(to router: Router<ServerContext>) {
        router.get("oauth/jwks") { _, _ in
            try Response.json(["keys": [.object(await server.publicKey)]] as JSONObject)
        }
    }
}
