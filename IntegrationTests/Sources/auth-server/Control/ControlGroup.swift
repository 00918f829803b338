import HTTPTypes
import Hummingbird

/// The routes below `/control/`, whose requests and responses are JSON.
struct ControlGroup {
    /// The variable parts of the address of a control request.
    struct Address: Sendable {
        /// The user in the query, or `nil` if there is none.
        let user: String?
        /// The ID in the path.
        let id: String

        fileprivate init(of request: Request, context: ServerContext, server: AuthorizationServer) throws {
            user = try request.uri.queryParameters["user"].map { try server.knownUser(String($0)) }
            id = context.parameters.get("id") ?? ""
        }
    }

    private let server: AuthorizationServer
    private let routes: RouterGroup<ServerContext>

    init(server: AuthorizationServer, router: Router<ServerContext>) {
        self.server = server
        routes = router.group("control")
    }

    /// Adds a request without a body.
    func on<Outcome: Encodable & Sendable>(
        _ method: HTTPRequest.Method, _ path: String,
        _ handle: @escaping @Sendable (Address) async throws -> Outcome
    ) {
        routes.on(RouterPath(path), method: method) { [server] request, context -> Response in
            try .json(try await handle(Address(of: request, context: context, server: server)))
        }
    }

    /// Adds a request with a body.
    ///
    /// - Parameter members: The known members of the body, or `nil` if its type rejects unknown members itself.
    func on<Body: Decodable & Sendable, Outcome: Encodable & Sendable>(
        _ method: HTTPRequest.Method, _ path: String, members: [String]?,
        _ handle: @escaping @Sendable (Body, Address) async throws -> Outcome
    ) {
        routes.on(RouterPath(path), method: method) { [server] request, context -> Response in
            let body: Body = try await request.controlBody(context, members: members)
            return try .json(try await handle(body, Address(of: request, context: context, server: server)))
        }
    }
}

extension AuthorizationServer {
    /// Returns the user name, or throws an error if there is no such user.
    nonisolated func knownUser(_ name: String) throws -> String {
        guard settings.users[name] != nil else { throw ControlError(message: "there is no such user") }
        return name
    }
}
