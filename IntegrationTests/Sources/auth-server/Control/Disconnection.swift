import Hummingbird
import NIOCore
import NIOHTTP1

extension Response {
    /// The number of announced bytes that a truncated response does not send.
    private static let missingBytes = 64

    /// The response with a `Content-Length` that is too large, after which the connection is closed.
    ///
    /// Source: RFC 9112, section 8: the client must treat the message as incomplete, even if its body looks complete.
    func truncated(on channel: any Channel) -> Response {
        let body = self.body
        var response = self
        let announced = (body.contentLength ?? 0) + Self.missingBytes
        response.body = ResponseBody(contentLength: announced) { writer in
            try await body.write(UnfinishedWriter(writer: writer))
            await channel.hangUp()
        }
        return response
    }
}

/// Forwards the written bytes, but not the end of the response.
private struct UnfinishedWriter: ResponseBodyWriter {
    var writer: any ResponseBodyWriter

    mutating func write(_ buffer: ByteBuffer) async throws {
        try await writer.write(buffer)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension Channel {
    /// Closes the connection and waits until it is closed.
    func hangUp() async {
        close(promise: nil)
        await withCheckedContinuation { continuation in
            closeFuture.whenComplete { _ in continuation.resume() }
        }
    }

    /// Sends bytes that are not HTTP. They bypass the encoder of responses, but go through TLS if the connection uses
    /// it.
    func sendGarbage() async throws {
        let garbage = ByteBuffer(string: "\u{1}\u{2}\u{3} this is not HTTP\r\n\r\n")
        try await eventLoop.flatSubmit {
            do {
                let encoder = try self.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
                return encoder.writeAndFlush(NIOAny(garbage))
            } catch {
                return self.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }
}
