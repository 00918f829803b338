import NIOCore
import NIOPosix

/// A minimal browser that sends text, and returns everything that it receives until the connection ends.
enum RawClient {
    struct Response: Sendable {
        var text: String

        var status: Int { Int(text.split(separator: " ", maxSplits: 2).dropFirst().first ?? "") ?? 0 }
        var head: String { text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.lowerBound]) } ?? text }
        var body: String { text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "" }

        func value(of name: String) -> String? {
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            return line.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    /// Sends a request like a browser.
    static func get(
        _ target: String, port: Int, method: String = "GET", host: String? = nil, at address: String = "127.0.0.1"
    ) async throws -> Response {
        let host = host ?? "127.0.0.1:\(port)"
        return try await send(
            "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: test\r\nAccept: text/html\r\n\r\n",
            port: port, at: address)
    }

    /// Sends the text unchanged.
    static func send(_ text: String, port: Int, at address: String = "127.0.0.1") async throws -> Response {
        let received = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
        do {
            _ = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Exchange(sending: text, received))
                    }
                }
                .connect(host: address, port: port).get()
        } catch {
            received.fail(error)
            throw error
        }
        return Response(text: try await received.futureResult.get())
    }

    /// Connects, and sends only the text.
    static func connect(_ text: String, port: Int) async throws -> any Channel {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        if !text.isEmpty { try await channel.writeAndFlush(ByteBuffer(string: text)) }
        return channel
    }

    /// Whether a server listens at a port.
    static func isOpen(_ port: Int, at address: String = "127.0.0.1") async -> Bool {
        do {
            try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: address, port: port).get().close().get()
            return true
        } catch {
            return false
        }
    }

    /// Sends the text immediately after connecting, without the tests' threads, because the listener closes slow
    /// connections.
    private final class Exchange: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let request: String
        private let promise: EventLoopPromise<String>
        private var text = ""

        init(sending request: String, _ promise: EventLoopPromise<String>) {
            self.request = request
            self.promise = promise
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }

        // Ignore a reset after a complete response, which is due to bytes that the listener did not read.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }

        func handlerRemoved(context: ChannelHandlerContext) { promise.succeed(text) }
    }
}

/// A connection whose request is missing or incomplete.
struct IdleConnection {
    private let channel: any Channel

    static func open(port: Int, sending start: String) async throws -> IdleConnection {
        IdleConnection(channel: try await RawClient.connect(start, port: port))
    }

    /// The listener may have closed the connection.
    func close() async throws {
        do {
            try await channel.close()
        } catch ChannelError.alreadyClosed {}
    }
}
