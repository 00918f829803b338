import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Records every request and its outcome: as a line on the terminal, and as an entry for `GET /control/log`.
///
/// Queries, fields and bodies contain codes, tokens and passwords, so only the members of `RequestLog.Entry` are
/// recorded. Requests to `/control/` do not come from the client and are not logged.
struct RequestLogMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let server: AuthorizationServer
    let logger: Logger

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        // Read the body for faults, too: closing a connection with unread data resets it.
        var request = request
        let body = try await request.collectBody(upTo: context.maxUploadSize)
        let (method, path) = (request.method.rawValue, request.uri.path)
        let asked = Self.parameters(of: request, body)
        let grantType = path == server.settings.personality.endpoints.token ? Self.grantType(in: asked) : nil

        let secret =
            asked["client_assertion"] != nil
            ? ClientAssertions.method
            : (try? ClientCredentials(asked, headers: request.headers))?.method?.rawValue
        var number: Int?
        if !path.isControlPath {
            number = await server.updateLog {
                $0.add(
                    RequestLog.Entry(
                        method: method,
                        path: path,
                        grantType: grantType,
                        scope: asked["scope"],
                        resource: asked["resource"],
                        audience: asked["audience"],
                        clientID: asked["client_id"],
                        secret: secret
                    )
                )
            }
        }
        var context = context
        context.requestNumber = number
        let line = [method, path, grantType].compactMap { $0 }.joined(separator: " ")
        do {
            let response = try await respond(to: request, context: context, next: next)
            let status = response.status.code
            if let number {
                await server.updateLog { $0.setStatus(status, ofRequest: number) }
            }
            logger.info("\(line) \(status)")
            return response
        } catch let error as DroppedResponse {
            logger.info("\(line) dropped")
            throw error
        }
    }

    private func respond(
        to request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as DroppedResponse {
            throw error
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        } catch {
            logger.error("\(error)")
            let response: JSONObject = ["error": "server_error", "error_description": "see the server's log"]
            return try .json(response, status: .internalServerError)
        }
    }

    /// The grant type of a token request if this server supports it. Other values are not recorded.
    private static func grantType(in parameters: [String: String]) -> String? {
        parameters["grant_type"].map { TokenRoutes.GrantType(rawValue: $0)?.rawValue ?? "other" }
    }

    /// The client's parameters, or none if the form is invalid. The endpoint reports errors to the client.
    private static func parameters(of request: Request, _ body: ByteBuffer) -> [String: String] {
        let text = request.method == .get ? request.uri.query ?? "" : String(buffer: body)
        return (try? FormBody.parameters(in: text)) ?? [:]
    }
}

extension String {
    /// Whether the path belongs to the control endpoints, which are exempt from faults.
    var isControlPath: Bool { hasPrefix("/control/") }
}
