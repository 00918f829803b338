import Hummingbird

/// Refuses requests for any host but the loopback interface; see `Origin`.
struct LoopbackMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let settings: ServerSettings

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        _ = try Origin(of: request, settings: settings)
        return try await next(request, context)
    }
}
