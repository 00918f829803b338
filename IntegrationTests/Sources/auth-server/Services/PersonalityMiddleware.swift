import HTTPTypes
import Hummingbird

/// Reports errors in the format of the imitated service.
struct PersonalityMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let personality: Personality

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as OAuthError {
            let refusal = personality.response(to: error)
            var response = try personality.encode(refusal.body ?? [:], status: refusal.status, for: request)
            response.headers[.wwwAuthenticate] = refusal.challenge
            return response
        } catch let challenge as BearerChallenge {
            return try personality.challenge(challenge).response
        } catch let error as HTTPError where error.status == .notFound {
            guard let body = personality.notFound else { throw error }
            return try .json(body, status: .notFound)
        }
    }
}
