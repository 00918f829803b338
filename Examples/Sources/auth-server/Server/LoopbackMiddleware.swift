import Hummingbird

/// Refuses requests for any host but the loopback interface; see `Origin`.
struct LoopbackMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let usesTLS: Bool

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        _ = try Origin(of: request, usesTLS: usesTLS)
        return try await next(request, context)
    }
}
