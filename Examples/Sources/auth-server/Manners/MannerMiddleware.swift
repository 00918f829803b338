import HTTPTypes
import Hummingbird

/// Answers errors in the server's manner.
struct MannerMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let manner: any Manner

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as OAuthError {
            let reply = manner.reply(to: error)
            var response = try manner.encode(reply.body ?? [:], status: reply.status, for: request)
            response.headers[.wwwAuthenticate] = reply.challenge
            return response
        } catch let challenge as BearerChallenge {
            return try manner.reply(to: challenge).response
        } catch let error as HTTPError where error.status == .notFound {
            guard let body = manner.notFound else { throw error }
            return try .json(body, status: .notFound)
        }
    }
}
