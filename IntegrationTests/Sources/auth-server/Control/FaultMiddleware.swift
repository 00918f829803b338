import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Applies the requested faults to requests and responses.
struct FaultMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let server: AuthorizationServer

    func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let (path, method) = (request.uri.path, request.method.rawValue)
        guard !path.isControlPath else { return try await next(request, context) }
        var request = request
        let grantType = TokenRoutes.GrantType(
            in: try await request.collectBody(upTo: context.maxUploadSize))?.rawValue
        var response: Response?
        var taken = await server.updateControls { $0.faults.take(for: path, method: method, grantType: grantType) }
        if taken == nil,
            await server.updateControls({ $0.faults.needsStatus(for: path, method: method, grantType: grantType) })
        {
            let real = try await realResponse(to: request, context: context, next: next)
            let status = Int(real.status.code)
            taken = await server.updateControls {
                $0.faults.take(for: path, method: method, grantType: grantType, status: status)
            }
            guard taken != nil else { return real }
            response = real
        }
        guard let fault = taken else { return try await next(request, context) }
        if response == nil, fault.afterHandler {
            response = try await realResponse(to: request, context: context, next: next)
        }
        if fault.delayMilliseconds > 0 {
            try await wait(on: context.channel) {
                try await cancelWhenGracefulShutdown {
                    try await Task.sleep(for: .milliseconds(fault.delayMilliseconds))
                }
            }
        }
        if let gate = fault.gate {
            let gates = server.gates
            try await wait(on: context.channel) {
                try await cancelWhenGracefulShutdown { try await gates.pass(gate) }
            }
        }
        switch fault.disconnect {
        case .before:
            await context.channel.hangUp()
            throw DroppedResponse()
        case .garbled:
            try await context.channel.sendGarbage()
            await context.channel.hangUp()
            throw DroppedResponse()
        case .truncated:
            return fault.apply(to: response ?? Response(status: .ok)).truncated(on: context.channel)
        case nil:
            if response == nil, !fault.replacesResponse {
                response = try await realResponse(to: request, context: context, next: next)
            }
            return fault.apply(to: response ?? Response(status: .ok))
        }
    }

    /// The real response. An error response counts as a response, too.
    private func realResponse(
        to request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        }
    }

    /// Waits, or closes the connection if the server shuts down in the meantime.
    private func wait(on channel: any Channel, _ wait: () async throws -> Void) async throws {
        do {
            try await wait()
        } catch is CancellationError {
            await channel.hangUp()
            throw DroppedResponse()
        }
    }
}

/// The connection was closed without a response.
struct DroppedResponse: Error {}

extension Fault {
    /// The response with the fault's own parts, or the response that replaces it.
    func apply(to response: Response) -> Response {
        var result = response
        if replacesResponse {
            result = Response(
                status: HTTPResponse.Status(code: status ?? 200),
                headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: body ?? ""))
            )
        }
        for (name, value) in headers {
            if let name = HTTPField.Name(name) {
                result.headers[name] = value
            }
        }
        return result
    }
}
