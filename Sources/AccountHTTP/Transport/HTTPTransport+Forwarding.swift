import AccountKit
import AccountSupport
import AsyncHTTPClient
import HTTPTypes
import NIOCore

extension HTTPTransport {
    /// The connections for requests of other programs. A program may keep many streams open at a time.
    static let forwarding = HTTPTransport(environment: .current, connectionLimit: 512)

    /// Sends a request, and returns the head of the response with the body still arriving.
    func open(
        _ message: HTTPRequest, body: [UInt8]?, to url: ServiceURL
    ) async throws -> (HTTPResponse, ForwardedBody) {
        var request = ServiceRequest(url: url)
        request.method = message.method
        request.headerFields = message.headerFields
        request.body = body.map { Data($0) }
        let peer = peer(of: url)
        let start = ContinuousClock.now
        do {
            let response = try await execute(clientRequest(request), to: url, by: try client(for: request))
            return (Self.head(of: response), ForwardedBody(response.body))
        } catch {
            if Task.isCancelled { throw CancellationError() }
            let failure =
                error as? AuthorityError
                ?? TransportFailure.failure(for: error, from: peer, .beforeHead, after: start.duration(to: .now))
            throw AccountError(request: failure, to: url.origin.description)
        }
    }
}
